package broker_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestConnectWithoutAPort(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Connect(t, func(cfg *broker.Config) { cfg.URL, cfg.Embedded = "", b })
	if !conn.Connected() {
		t.Error("not connected")
	}
	write(t, conn.Ledger(), queued())
	b.Stop()
	b.Start()
	write(t, conn.Ledger(), queued())
}

func TestConnectWaitsForTheBroker(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	b.Stop()
	connected := make(chan error, 1)
	ctx := within(t, 20*time.Second)
	go func() {
		conn, err := broker.Connect(ctx, broker.Config{URL: b.URL(), Logger: zerolog.Nop()})
		if err == nil {
			conn.Close()
		}
		connected <- err
	}()
	b.Start()
	if err := receive(t, "the connection", connected); err != nil {
		t.Error(err)
	}
}

func TestConnectGivesUp(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	b.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := broker.Connect(ctx, broker.Config{URL: b.URL()}); !errors.Is(err, nats.ErrNoServers) {
		t.Errorf("got %v", err)
	}
}

func TestWhoeverTriesToConnectSaysSoOnceAndMayBeToldToStop(t *testing.T) {
	t.Parallel()
	var told bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var hangingUp sync.WaitGroup
	hangingUp.Go(func() {
		defer cancel()
		for range 3 { // tries, and then it is told to stop
			if conn, err := nobody.Accept(); err == nil {
				_ = conn.Close()
			}
		}
	})
	defer hangingUp.Wait()
	defer func() { _ = nobody.Close() }()
	_, err = broker.Connect(ctx, broker.Config{URL: "nats://" + nobody.Addr().String(), Logger: zerolog.New(&told)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was told to stop", err)
	}
	if n := strings.Count(told.String(), "no broker answers"); n != 1 {
		t.Errorf("it said so %d times, want once: %s", n, told.String())
	}
}

func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]broker.Config{
		"an even number of replicas": {Replicas: 2},
		"negative replicas":          {Replicas: -1},
		"a negative time":            {TryTimeout: -1},
		"a password without a user":  {Password: "secret"},
		"credentials that are not there": {
			URL: "nats://127.0.0.1:1", CredsFile: "/nowhere/agent.creds",
		},
	} {
		ctx := within(t, 20*time.Second)
		if _, err := broker.Connect(ctx, cfg); err == nil {
			t.Errorf("%s: connected", name)
		}
		if ctx.Err() != nil {
			t.Errorf("%s: it was tried until the end", name)
		}
	}
}

func TestOnTrouble(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Conn(t)
	heard, canceled := make(chan broker.Trouble, 10), make(chan struct{}, 10)
	conn.OnTrouble(func(t broker.Trouble) { heard <- t })
	conn.OnTrouble(func(broker.Trouble) { canceled <- struct{}{} })()
	before := time.Now()
	b.Stop()
	b.Start()
	if trouble := receive(t, "the trouble", heard); trouble.Lost.Before(before) {
		t.Errorf("the connection was lost at %s, before the broker stopped at %s", trouble.Lost, before)
	}
	if len(canceled) != 0 {
		t.Error("one who had canceled was called")
	}
	if !conn.Connected() {
		t.Error("called before it was connected again")
	}
}

// TestSubscriptionsSurviveAnOutage: feed, requests and presence go on after the broker has come back.
func TestSubscriptionsSurviveAnOutage(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Connect(t, undisturbed)
	heard := make(chan broker.Entry, 10)
	if _, err := conn.Ledger().Follow(func(e broker.Entry) { heard <- e }); err != nil {
		t.Fatal(err)
	}
	serve(t, conn, broker.SubjectPull(broker.Any), func(_ context.Context, r *broker.Request) { r.Reply(nil) })
	back := make(chan struct{}, 10)
	conn.OnTrouble(func(broker.Trouble) { back <- struct{}{} })
	b.Stop()
	b.Start()
	receive(t, "the reconnect", back)
	write(t, conn.Ledger(), queued())
	receive(t, "the feed", heard)
	if _, err := conn.Request(t.Context(), broker.SubjectPull("laptop-1"), nil); err != nil {
		t.Error(err)
	}
}

// TestCloseEndsEverything: whatever runs on the connection has ended when Close returns; TestMain looks for what is left.
func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Connect(t, func(cfg *broker.Config) { cfg.Grace = 100 * time.Millisecond })
	started := make(chan struct{})
	serve(t, conn, broker.SubjectPull(broker.Any), func(ctx context.Context, _ *broker.Request) {
		close(started)
		<-ctx.Done()
	})
	if _, err := conn.Ledger().Follow(func(broker.Entry) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Agents().Watch(context.Background(), func(broker.Item[broker.AgentRecord]) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Presence("dispatcher-a", 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ServeAPI("1.0.0", map[string]func(context.Context, *broker.Request){"task.get": nil}, nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Publish(broker.SubjectPull("laptop-1"), nil); err != nil {
		t.Fatal(err)
	}
	receive(t, "a handler that does not end by itself", started)
	begin := time.Now()
	var all sync.WaitGroup
	for range 3 {
		all.Go(conn.Close)
	}
	all.Wait()
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if conn.Connected() {
		t.Error("still connected")
	}
	_, err := conn.Subscribe(broker.SubjectResult("default", broker.Any), func(string, []byte) {})
	if !errors.Is(err, broker.ErrDisconnected) {
		t.Errorf("subscribe after Close: %v", err)
	}
	if _, err := conn.Presence("dispatcher-a", 0, 0); !errors.Is(err, broker.ErrDisconnected) {
		t.Errorf("presence after Close: %v", err)
	}
	if _, err := conn.ServeAPI("1.0.0", nil, nil); !errors.Is(err, broker.ErrDisconnected) {
		t.Errorf("API after Close: %v", err)
	}
}

func TestCloseDuringAnOutage(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Conn(t)
	if _, err := conn.Agents().Watch(context.Background(), func(broker.Item[broker.AgentRecord]) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Presence("dispatcher-a", 0, 0); err != nil {
		t.Fatal(err)
	}
	serve(t, conn, broker.SubjectPull(broker.Any), func(context.Context, *broker.Request) {})
	b.Stop()
	brokertest.Eventually(t, "the disconnect", func() bool { return !conn.Connected() })
	begin := time.Now()
	conn.Close()
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestGarbageEverywhere: nothing that anyone may send makes a handler panic or stop.
func TestGarbageEverywhere(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Connect(t, undisturbed)
	entries := make(chan broker.Entry, 100)
	follow, err := conn.Ledger().Follow(func(e broker.Entry) { entries <- e })
	if err != nil {
		t.Fatal(err)
	}
	defer follow.Close()
	if _, err := conn.FollowAssigned("laptop-1", func(e broker.Entry) { entries <- e }); err != nil {
		t.Fatal(err)
	}
	presence, err := conn.Presence("dispatcher-a", 20*time.Millisecond, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{broker.SubjectPull(broker.Any), "reach.control.laptop-1", "reach.api.task.submit"} {
		serve(t, conn, subject, func(_ context.Context, r *broker.Request) {
			if _, ok := r.Entry(); ok {
				t.Error("garbage counts as an entry")
			}
			r.Reply(nil)
			r.ReplyEnd(nil)
			r.Fail(schemas.NewError(schemas.Internal, "", ""))
		})
	}
	nc := plain(t, b.URL()).Conn()
	headers := []nats.Header{
		nil,
		{},
		{"Nats-Sequence": {"-1"}},
		{"Nats-Sequence": {"x"}, "Nats-Subject": {"reach.task"}},
		{"Status": {"503"}},
		{"Nats-Sequence": {"7"}, "Nats-Subject": {"\x00"}, "Nats-TTL": {"never"}, "Nats-Time-Stamp": {"now"}},
	}
	bodies := [][]byte{nil, {}, []byte("{"), {0xff, 0x00}, bytes.Repeat([]byte("["), 10_000)}
	for _, subject := range []string{
		"reach.feed.x", "reach.feed.assigned.a.laptop-1.not-a-task", "reach.feed.assigned.A.laptop-1." + task,
		"reach.feed.lost.a.b." + task, "reach.pull.UPPER", "reach.pull.laptop-1", "reach.control.laptop-1", "reach.api.task.submit",
		"reach.dispatcher.B!", "reach.dispatcher.dispatcher-a", "reach.dispatcher.dispatcher-b",
	} {
		for _, header := range headers {
			for _, body := range bodies {
				if err := nc.PublishMsg(&nats.Msg{Subject: subject, Reply: "nowhere.at.all", Header: header, Data: body}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	want := write(t, conn.Ledger(), queued())
	if got := receive(t, "the one good event", entries); got.Sequence != want.Sequence {
		t.Errorf("heard %+v", got)
	}
	if peers := presence.Peers(); len(peers) != 1 {
		t.Errorf("the peers are %v", peers)
	}
}

// TestGarbageInTheLedger: a message that is no entry is passed over by every reader.
func TestGarbageInTheLedger(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	ledger := b.Conn(t).Ledger()
	js := plain(t, b.URL())
	for _, subject := range []string{"reach.task.x", "reach.task.x.y.z.w", "reach.task." + task + ".queued.a.-.b"} {
		if _, err := js.Publish(t.Context(), subject, []byte("garbage")); err != nil {
			t.Fatal(err)
		}
	}
	stored := write(t, ledger, queued())
	if got := collect(t, ledger, 1, stored.Sequence); len(got) != 1 || got[0] != stored.Sequence {
		t.Errorf("range: %v", got)
	}
	if _, err := ledger.At(t.Context(), 1); err == nil {
		t.Error("garbage was read")
	}
	e := queued()
	e.TaskID = task
	_, err := ledger.Write(t.Context(), e)
	if last := wantConflict(t, err).Last; last.Sequence != 3 || last.TaskID != task {
		t.Errorf("a write met %+v", last)
	}
}
