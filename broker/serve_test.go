package broker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func serve(t *testing.T, c *broker.Conn, subject string, handler func(context.Context, *broker.Request),
	options ...broker.ServeOption,
) *broker.Subscription {
	t.Helper()
	s, err := c.Serve(subject, handler, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRequestAndReply(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	serve(t, b.Conn(t), broker.SubjectBegin(broker.Any), func(_ context.Context, r *broker.Request) {
		r.Reply(fmt.Appendf(nil, "%s %s %s", r.Subject, r.Agent, r.Data))
	})
	got, err := b.Conn(t).Request(t.Context(), broker.SubjectBegin("laptop-1"), []byte("hello"))
	if err != nil || string(got) != "reach.begin.laptop-1 laptop-1 hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestErrorsOfRequests(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	server, client := b.Conn(t), b.Conn(t)
	refusal := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonBusy, "every agent\r\nis busy").With("slots", 2)
	refusal.RetryAfterMS = 1200
	serve(t, server, broker.SubjectFinish(broker.Any), func(_ context.Context, r *broker.Request) { r.Fail(refusal) })

	_, err := client.Request(t.Context(), broker.SubjectFinish("laptop-1"), nil)
	var got *schemas.Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(refusal, got); diff != "" {
		t.Errorf("the error on the other side (-want +got):\n%s", diff)
	}
	if _, err := client.Request(t.Context(), broker.SubjectPull("laptop-1"), nil); !errors.Is(err, broker.ErrNoResponders) {
		t.Errorf("nobody there: got %v", err)
	}
	_, err = client.RequestEntries(t.Context(), broker.SubjectPull("laptop-1"), nil, func(broker.Entry) {})
	if !errors.Is(err, broker.ErrNoResponders) {
		t.Errorf("nobody there for entries: got %v", err)
	}
	_, err = client.Request(t.Context(), broker.SubjectPull("*.>"), nil)
	wantCode(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
	_, err = client.Request(t.Context(), broker.SubjectFinish("laptop-1"), make([]byte, client.MaxPayload()+1))
	wantCode(t, err, schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge)
	_, err = client.Request(t.Context(), "reach.finish.Not_An_Agent", nil)
	wantCode(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
}

func TestRequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	serve(t, conn, broker.SubjectPull(broker.Any), func(context.Context, *broker.Request) {})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := conn.Request(ctx, broker.SubjectPull("laptop-1"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("request: got %v", err)
	}
	_, err := conn.RequestEntries(ctx, broker.SubjectPull("laptop-1"), nil, func(broker.Entry) {})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("request of entries: got %v", err)
	}
}

func TestRequestOnADeadConnectionFailsFast(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Conn(t)
	asked := make(chan struct{})
	serve(t, conn, broker.SubjectPull(broker.Any), func(context.Context, *broker.Request) { close(asked) })
	lost := make(chan error, 1)
	go func() {
		_, err := conn.Request(context.Background(), broker.SubjectPull("laptop-1"), nil)
		lost <- err
	}()
	receive(t, "the request", asked)
	b.Stop()
	if err := receive(t, "the end of the one that waits", lost); !errors.Is(err, broker.ErrDisconnected) {
		t.Errorf("while it waited: got %v", err)
	}
	begin := time.Now()
	if _, err := conn.Request(t.Context(), broker.SubjectPull("laptop-1"), nil); !errors.Is(err, broker.ErrDisconnected) {
		t.Errorf("got %v", err)
	}
	_, err := conn.RequestEntries(t.Context(), broker.SubjectPull("laptop-1"), nil, func(broker.Entry) {})
	if !errors.Is(err, broker.ErrDisconnected) {
		t.Errorf("entries: got %v", err)
	}
	if err := conn.Publish(broker.SubjectReceipt("laptop-1"), nil); !errors.Is(err, broker.ErrDisconnected) {
		t.Errorf("publish: got %v", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestServeRunsHandlersTogetherUpToABound(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	server, client := b.Conn(t), b.Conn(t)
	const bound = 512
	var running, most atomic.Int32
	full, release := make(chan struct{}, bound), make(chan struct{})
	serve(t, server, broker.SubjectPull(broker.Any), func(_ context.Context, r *broker.Request) {
		defer running.Add(-1)
		now := running.Add(1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		if now == bound {
			full <- struct{}{}
		}
		<-release
		r.Reply(nil)
	})
	var all sync.WaitGroup
	for range bound + 100 {
		all.Go(func() {
			if _, err := client.Request(within(t, 20*time.Second), broker.SubjectPull("laptop-1"), nil); err != nil {
				t.Errorf("request: %v", err)
			}
		})
	}
	receive(t, "as many handlers as may run", full)
	close(release)
	all.Wait()
	if most.Load() > bound {
		t.Errorf("%d handlers ran at once", most.Load())
	}
}

func TestSerialKeepsTheOrder(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	var got []string
	done := make(chan struct{})
	serve(t, conn, broker.SubjectReceipt(broker.Any), func(_ context.Context, r *broker.Request) {
		got = append(got, string(r.Data)) // racy, were it not serial
		if len(got) == 100 {
			close(done)
		}
	}, broker.Serial(), broker.Plain())
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(i))
		if err := conn.Publish(broker.SubjectReceipt("laptop-1"), []byte(want[i])); err != nil {
			t.Fatal(err)
		}
	}
	receive(t, "all of them", done)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestGroupAndPlain(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	var group, each atomic.Int32
	heard := make(chan struct{}, 100)
	for range 3 {
		conn := b.Conn(t)
		serve(t, conn, broker.SubjectHeartbeat(broker.Any), func(_ context.Context, r *broker.Request) {
			group.Add(1)
			r.Reply(nil)
		})
		serve(t, conn, broker.SubjectHeartbeat(broker.Any), func(context.Context, *broker.Request) {
			each.Add(1)
			heard <- struct{}{}
		}, broker.Plain())
	}
	client := b.Conn(t)
	for range 10 {
		if _, err := client.Request(t.Context(), broker.SubjectHeartbeat("laptop-1"), nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 30 {
		receive(t, "everybody", heard)
	}
	if group.Load() != 10 || each.Load() != 30 {
		t.Errorf("the group heard %d, all together %d; want 10 and 30", group.Load(), each.Load())
	}
}

// TestAStrangeNameIsAnsweredOnce: of all who hear a request the group alone answers, also what no handler gets to see.
func TestAStrangeNameIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	for range 3 {
		conn := b.Conn(t)
		answer := func(_ context.Context, r *broker.Request) { r.Reply(nil) }
		serve(t, conn, broker.SubjectHeartbeat(broker.Any), answer)
		serve(t, conn, broker.SubjectHeartbeat(broker.Any), func(context.Context, *broker.Request) {}, broker.Plain(), broker.Serial())
	}
	client, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	answers := make(chan *nats.Msg, 100)
	if _, err := client.ChanSubscribe("_INBOX.answers", answers); err != nil {
		t.Fatal(err)
	}
	ask := func(subject string) string {
		t.Helper()
		if err := client.PublishRequest(subject, "_INBOX.answers", nil); err != nil {
			t.Fatal(err)
		}
		return receive(t, "an answer to "+subject, answers).Header.Get("Nats-Service-Error-Code")
	}
	for range 5 {
		if got := ask("reach.heartbeat.LAPTOP"); got != string(schemas.InvalidArgument) {
			t.Errorf("a strange name is answered with %q", got)
		}
	}
	for range 5 { // what any of the others has said by now would come first
		if got := ask("reach.heartbeat.laptop-1"); got != "" {
			t.Errorf("a strange name is answered once more, with %q", got)
		}
	}
}

// TestCloseOfServe: it lets handlers end by themselves, and ends the context of those that do not.
func TestCloseOfServe(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Connect(t, func(cfg *broker.Config) { cfg.Grace = 100 * time.Millisecond })
	entered, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, conn, broker.SubjectPull(broker.Any), func(ctx context.Context, _ *broker.Request) {
		close(entered)
		<-ctx.Done()
		close(ended)
	})
	if err := conn.Publish(broker.SubjectPull("laptop-1"), nil); err != nil {
		t.Fatal(err)
	}
	receive(t, "the handler", entered)
	s.Close()
	select {
	case <-ended:
	default:
		t.Error("Close returned before the handler did")
	}
	if _, err := b.Conn(t).Request(t.Context(), broker.SubjectPull("laptop-1"), nil); !errors.Is(err, broker.ErrNoResponders) {
		t.Errorf("after Close: %v", err)
	}
}

// TestCloseAnswersWhatHasArrived: requests that wait for a serial handler are answered before Close returns.
func TestCloseAnswersWhatHasArrived(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	server, client := b.Conn(t), b.Conn(t)
	entered, release := make(chan struct{}, 10), make(chan struct{})
	s := serve(t, server, broker.SubjectPull(broker.Any), func(_ context.Context, r *broker.Request) {
		entered <- struct{}{}
		<-release
		r.Reply(nil)
	}, broker.Serial())
	answers := make(chan error, 5)
	for range 5 {
		go func() {
			_, err := client.Request(within(t, time.Minute), broker.SubjectPull("laptop-1"), nil)
			answers <- err
		}()
	}
	receive(t, "the first", entered)
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { close(release) })
	s.Close()
	for range 5 {
		if err := receive(t, "an answer", answers); err != nil && !errors.Is(err, broker.ErrNoResponders) {
			t.Errorf("got %v", err)
		}
	}
}

func TestRequestEntries(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Conn(t)
	ledger := conn.Ledger()
	var want []broker.Entry
	for range 5 {
		e := write(t, ledger, after(write(t, ledger, queued()), schemas.PhaseAssigned, "laptop-1"))
		e, err := ledger.At(t.Context(), e.Sequence)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	serve(t, conn, broker.SubjectPull(broker.Any), func(_ context.Context, r *broker.Request) {
		for _, e := range want {
			r.ReplyEntry(e)
		}
		r.Reply([]byte("what is no entry is passed over"))
		r.ReplyEnd([]byte(`{"count":5}`))
	})
	var got []broker.Entry
	keep := func(e broker.Entry) { got = append(got, e) }
	end, err := b.Conn(t).RequestEntries(t.Context(), broker.SubjectPull("laptop-1"), nil, keep)
	if err != nil || string(end) != `{"count":5}` {
		t.Errorf("the end is %q, %v", end, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestRequestEntriesRefused(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	serve(t, conn, broker.SubjectPull(broker.Any), func(_ context.Context, r *broker.Request) {
		r.Fail(schemas.NewError(schemas.NotFound, schemas.ReasonUnknownAgent, "register first"))
	})
	_, err := conn.RequestEntries(t.Context(), broker.SubjectPull("laptop-1"), nil, func(broker.Entry) {})
	wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownAgent)
}

func TestAssignmentSentAgain(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	got := make(chan broker.Entry, 1)
	serve(t, conn, broker.SubjectControl("laptop-1"), func(_ context.Context, r *broker.Request) {
		if e, ok := r.Entry(); ok {
			got <- e
		}
	}, broker.Serial())
	ledger := conn.Ledger()
	want := write(t, ledger, after(write(t, ledger, queued()), schemas.PhaseAssigned, "laptop-1"))
	if err := conn.Publish(broker.SubjectControl("laptop-1"), []byte(`{"do":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	if err := conn.PublishEntry(broker.SubjectControl("laptop-1"), want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, receive(t, "the assignment", got)); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
}

func TestServeAPI(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	server, client := b.Conn(t), b.Conn(t)
	var together sync.WaitGroup
	together.Add(2)
	api, err := server.ServeAPI("1.2.3", map[string]func(context.Context, *broker.Request){
		"task.submit": func(_ context.Context, r *broker.Request) { r.Reply(bytes.ToUpper(r.Data)) },
		"task.get": func(_ context.Context, r *broker.Request) {
			r.Fail(schemas.NewError(schemas.NotFound, schemas.ReasonUnknownTask, "no such task"))
		},
		"task.wait": func(_ context.Context, r *broker.Request) {
			together.Done()
			together.Wait() // returns only if both run at once
			r.Reply(nil)
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Request(t.Context(), broker.SubjectAPI("task", "submit"), []byte("abc"))
	if err != nil || string(got) != "ABC" {
		t.Errorf("submit: %q, %v", got, err)
	}
	_, err = client.Request(t.Context(), broker.SubjectAPI("task", "get"), nil)
	wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownTask)
	var waits sync.WaitGroup
	for range 2 {
		waits.Go(func() {
			if _, err := client.Request(within(t, time.Minute), broker.SubjectAPI("task", "wait"), nil); err != nil {
				t.Errorf("wait: %v", err)
			}
		})
	}
	waits.Wait()
	wantListed(t, b)
	api.Close()
	if _, err := client.Request(t.Context(), broker.SubjectAPI("task", "submit"), nil); !errors.Is(err, broker.ErrNoResponders) {
		t.Errorf("after Close: %v", err)
	}
}

// wantListed asks for services as the usual tools do.
func wantListed(t *testing.T, b *brokertest.Broker) {
	t.Helper()
	reply, err := plain(t, b.URL()).Conn().Request("$SRV.INFO.reach", nil, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var got, want struct {
		Name, Version string
		Endpoints     []struct{ Name, Subject, QueueGroup string }
	}
	text := `{"name":"reach","version":"1.2.3","endpoints":[{"name":"task-get","subject":"reach.api.task.get"},
		{"name":"task-submit","subject":"reach.api.task.submit"},{"name":"task-wait","subject":"reach.api.task.wait"}]}`
	if err := errors.Join(json.Unmarshal(reply.Data, &got), json.Unmarshal([]byte(text), &want)); err != nil {
		t.Fatal(err)
	}
	byName := cmpopts.SortSlices(func(a, b struct{ Name, Subject, QueueGroup string }) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, got, byName); diff != "" {
		t.Errorf("what the tools see (-want +got):\n%s", diff)
	}
}

func TestServeAPIRefusesBadEndpoints(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	for _, name := range []string{"", "task", "task.", "task.*", "task.submit.more", "Task.Submit"} {
		endpoints := map[string]func(context.Context, *broker.Request){name: func(context.Context, *broker.Request) {}}
		if _, err := conn.ServeAPI("1.0.0", endpoints, nil); err == nil {
			t.Errorf("%q is served", name)
		}
	}
	if _, err := conn.ServeAPI("not a version", nil, nil); err == nil {
		t.Error("any version will do")
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Conn(t)
	got := make(chan string, 10)
	s, err := conn.Subscribe(broker.SubjectResult("default", broker.Any), func(subject string, body []byte) {
		got <- subject + " " + string(body)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Conn(t).Publish(broker.SubjectResult("default", task), []byte("ended")); err != nil {
		t.Fatal(err)
	}
	if want, got := broker.SubjectResult("default", task)+" ended", receive(t, "the result", got); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Close()
	_, err = conn.Subscribe(broker.SubjectResult("default", "x"), func(string, []byte) {})
	wantCode(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
	wantCode(t, conn.Publish("", nil), schemas.InvalidArgument, schemas.ReasonBadName)
}

func TestWhatIsAskedAfterSubscribingAheadIsHeard(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	asker, answerer := b.Conn(t), b.Conn(t)
	serving, err := answerer.Subscribe("say", func(_ string, body []byte) { _ = answerer.Publish(string(body), []byte("said")) })
	if err != nil {
		t.Fatal(err)
	}
	defer serving.Close()
	for n := range 100 {
		subject, heard := fmt.Sprint("answers.", n), make(chan string, 1)
		ahead, err := asker.SubscribeAhead(subject, func(_ string, body []byte) { heard <- string(body) })
		if err != nil {
			t.Fatal(err)
		}
		if err := asker.Publish("say", []byte(subject)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-heard:
		case <-time.After(10 * time.Second):
			t.Fatalf("answer %d was not heard", n)
		}
		ahead.Close()
	}
}

// TestNoAnswerGoesIntoTheLedger has callers that name the house's own subjects, and the server's, as the place of their answers.
func TestNoAnswerGoesIntoTheLedger(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Conn(t)
	asked := make(chan string, 3)
	sub, err := conn.Serve(broker.SubjectFinish("laptop-1"), func(_ context.Context, r *broker.Request) {
		asked <- r.Beside("_results")
		r.Reply([]byte("forged"))
	}, broker.Serial())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
	nc := plain(t, b.URL()).Conn()
	for _, to := range []string{"reach.task." + task + ".done.echo.laptop-1", "$JS.API.STREAM.PURGE.REACH"} {
		if err := nc.PublishRequest(broker.SubjectFinish("laptop-1"), to, nil); err != nil {
			t.Fatal(err)
		}
		if beside := <-asked; beside != "" {
			t.Errorf("what is beside %s is %s", to, beside)
		}
	}
	if reply, err := nc.Request(broker.SubjectFinish("laptop-1"), nil, 10*time.Second); err != nil || string(reply.Data) != "forged" {
		t.Fatalf("an honest caller gets %v, %v", reply, err)
	}
	if state, err := conn.Ledger().State(t.Context()); err != nil || state.Last != 0 {
		t.Errorf("the ledger has %+v, %v", state, err)
	}
}
