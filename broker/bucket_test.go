package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func record(version string) broker.AgentRecord {
	return broker.AgentRecord{
		Registration: schemas.Registration{V: 1, AgentID: "laptop-1", Version: version, Capabilities: []schemas.Offer{{ID: "echo"}}},
		State:        schemas.AgentOnline, RegisteredAt: schemas.At(time.UnixMilli(1_800_000_000_000)),
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	agents := brokertest.New(t).Conn(t).Agents()
	ctx := t.Context()
	if _, err := agents.Get(ctx, "laptop-1"); !errors.Is(err, broker.ErrNotFound) {
		t.Errorf("get of nothing: %v", err)
	}
	if _, err := agents.Update(ctx, "laptop-1", record("1.0.0"), 7); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("update of nothing: %v", err)
	}
	first, err := agents.Create(ctx, "laptop-1", record("1.0.0"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agents.Create(ctx, "laptop-1", record("1.1.0"), 0); !errors.Is(err, broker.ErrExists) {
		t.Errorf("second create: %v", err)
	}
	second, err := agents.Update(ctx, "laptop-1", record("1.2.0"), first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agents.Update(ctx, "laptop-1", record("1.3.0"), first); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("stale update: %v", err)
	}
	got, err := agents.Get(ctx, "laptop-1")
	want := broker.Item[broker.AgentRecord]{Key: "laptop-1", Value: record("1.2.0"), Revision: second}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("get (-want +got): %v\n%s", err, diff)
	}
	third, err := agents.Put(ctx, "laptop-1", record("2.0.0"))
	if err != nil || third <= second {
		t.Errorf("put: %d, %v", third, err)
	}
	if got, err := agents.Get(ctx, "laptop-1"); err != nil || got.Value.Registration.Version != "2.0.0" {
		t.Errorf("get after put: %+v, %v", got, err)
	}
}

func TestDeletedKeysAreGoneAndFreeAgain(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	agents, ctx := conn.Agents(), t.Context()
	heard := make(chan bool, 4)
	if _, err := agents.Watch(ctx, func(item broker.Item[broker.AgentRecord]) { heard <- item.Deleted }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := agents.Create(ctx, "laptop-1", record("1.0.0"), time.Hour); err != nil {
			t.Fatal(err)
		}
		if deleted := <-heard; deleted {
			t.Error("the watch hears of no record")
		}
		if err := agents.Delete(ctx, "laptop-1"); err != nil {
			t.Fatal(err)
		}
		if deleted := <-heard; !deleted {
			t.Error("the watch does not hear that the record is gone")
		}
		if _, err := agents.Get(ctx, "laptop-1"); !errors.Is(err, broker.ErrNotFound) {
			t.Errorf("get of what was deleted: %v", err)
		}
	}
}

func TestBucketRefusesBadKeys(t *testing.T) {
	t.Parallel()
	agents := brokertest.New(t).Conn(t).Agents()
	for _, key := range []string{"", "*", ">", "a.b", "a b", "A", strings.Repeat("a", 129)} {
		_, get := agents.Get(t.Context(), key)
		_, create := agents.Create(t.Context(), key, record("1.0.0"), 0)
		_, update := agents.Update(t.Context(), key, record("1.0.0"), 1)
		_, put := agents.Put(t.Context(), key, record("1.0.0"))
		for _, err := range []error{get, create, update, put} {
			wantCode(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
		}
	}
}

func TestCreateRace(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	const racers = 8
	var buckets []*broker.Bucket[broker.KeyRecord]
	for range racers {
		buckets = append(buckets, b.Conn(t).Keys())
	}
	for i := range 40 {
		key := broker.IdempotencyKey("default", fmt.Sprint(i))
		results := make([]error, racers)
		var race sync.WaitGroup
		for r, keys := range buckets {
			race.Go(func() {
				_, results[r] = keys.Create(t.Context(), key, broker.KeyRecord{TaskID: fmt.Sprint(r)}, time.Hour)
			})
		}
		race.Wait()
		got, err := buckets[0].Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range results {
			if won := got.Value.TaskID == fmt.Sprint(r); won != (err == nil) || !won && !errors.Is(err, broker.ErrExists) {
				t.Fatalf("key %d belongs to %s, and racer %d got %v", i, got.Value.TaskID, r, err)
			}
		}
	}
}

func TestKeyEnds(t *testing.T) {
	t.Parallel()
	keys := brokertest.New(t).Conn(t).Keys()
	items := make(chan broker.Item[broker.KeyRecord], 10)
	ready, err := keys.Watch(t.Context(), func(i broker.Item[broker.KeyRecord]) { items <- i })
	if err != nil {
		t.Fatal(err)
	}
	receive(t, "the start", ready)
	key := broker.IdempotencyKey("default", "a")
	first, err := keys.Create(t.Context(), key, broker.KeyRecord{TaskID: "one"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if item := receive(t, "the key", items); item.Deleted || item.Revision != first {
		t.Errorf("got %+v", item)
	}
	if item := receive(t, "its end", items); !item.Deleted || item.Key != key || item.Value.TaskID != "" {
		t.Errorf("got %+v", item)
	}
	if _, err := keys.Get(t.Context(), key); !errors.Is(err, broker.ErrNotFound) {
		t.Errorf("get after the end: %v", err)
	}
	second, err := keys.Create(t.Context(), key, broker.KeyRecord{TaskID: "two"}, time.Hour)
	if err != nil || second <= first {
		t.Fatalf("create after the end: %d, %v", second, err)
	}
	if item := receive(t, "the new key", items); item.Value.TaskID != "two" {
		t.Errorf("got %+v", item)
	}
}

func TestCreateWithALostAcknowledgement(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	proxy := brokertest.Proxy(t, b.URL())
	keys := through(t, b, proxy).Keys()
	proxy.SwallowAcks(1, "KV_REACH_IDEMPOTENCY")
	revision, err := keys.Create(t.Context(), "a", broker.KeyRecord{TaskID: "one"}, time.Hour)
	if err != nil || revision != 1 {
		t.Errorf("got %d, %v", revision, err)
	}
	proxy.SwallowReplies(brokertest.Always, "KV_REACH_IDEMPOTENCY")
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if _, err := keys.Create(ctx, "b", broker.KeyRecord{TaskID: "one"}, time.Hour); !errors.Is(err, broker.ErrUnknownOutcome) {
		t.Errorf("got %v, want ErrUnknownOutcome", err)
	}
}

// TestWatchOverOutages: what is there comes first, then changes; after an outage what changed meanwhile, and nothing twice.
func TestWatchOverOutages(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Conn(t)
	agents := conn.Agents()
	for i := range 3 {
		if _, err := agents.Create(t.Context(), fmt.Sprintf("agent-%d", i), record("1.0.0"), 0); err != nil {
			t.Fatal(err)
		}
	}
	items := make(chan broker.Item[broker.AgentRecord], 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, err := agents.Watch(ctx, func(i broker.Item[broker.AgentRecord]) { items <- i })
	if err != nil {
		t.Fatal(err)
	}
	receive(t, "the start", ready)
	if len(items) != 3 {
		t.Errorf("%d items came before ready, want 3", len(items))
	}
	for range 3 {
		receive(t, "an item", items)
	}
	for round := range 2 {
		b.Stop()
		b.Start()
		version := fmt.Sprintf("2.%d.0", round)
		if _, err := agents.Put(within(t, time.Minute), "agent-1", record(version)); err != nil {
			t.Fatal(err)
		}
		item := receive(t, "the change", items)
		if item.Key != "agent-1" || item.Value.Registration.Version != version {
			t.Errorf("round %d: got %+v", round, item)
		}
	}
	if len(items) != 0 {
		t.Errorf("%d items came twice", len(items))
	}
}

// TestWatchNoticesWhatVanishedUnseen: a key removed without a trace while nobody listened is gone after the next reconnect.
func TestWatchNoticesWhatVanishedUnseen(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	proxy := brokertest.Proxy(t, b.URL())
	conn := through(t, b, proxy)
	home := b.Conn(t).Agents()
	for _, key := range []string{"stays", "goes"} {
		if _, err := home.Create(t.Context(), key, record("1.0.0"), 0); err != nil {
			t.Fatal(err)
		}
	}
	items := make(chan broker.Item[broker.AgentRecord], 100)
	ready, err := conn.Agents().Watch(t.Context(), func(i broker.Item[broker.AgentRecord]) { items <- i })
	if err != nil {
		t.Fatal(err)
	}
	receive(t, "the start", ready)
	receive(t, "an item", items)
	receive(t, "an item", items)
	stream, err := plain(t, b.URL()).Stream(t.Context(), "KV_REACH_AGENTS")
	if err != nil {
		t.Fatal(err)
	}
	proxy.Pause()
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.REACH_AGENTS.goes")); err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	proxy.Resume()
	if item := receive(t, "the news", items); item.Key != "goes" || !item.Deleted {
		t.Errorf("got %+v", item)
	}
}

// TestWatchAsksOfWhatItHasNotSeen: a server that says that all has been read may have left out what was just being changed.
func TestWatchAsksOfWhatItHasNotSeen(t *testing.T) {
	t.Parallel()
	agents := brokertest.New(t).Conn(t).Agents()
	known := make(map[string]uint64)
	for _, key := range []string{"seen", "changed", "deleted"} {
		revision, err := agents.Create(t.Context(), key, record("1.0.0"), 0)
		if err != nil {
			t.Fatal(err)
		}
		known[key] = revision
	}
	if _, err := agents.Put(t.Context(), "changed", record("2.0.0")); err != nil {
		t.Fatal(err)
	}
	if err := agents.Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	known["vanished"] = 7
	gone, err := agents.Gone(t.Context(), known, map[string]bool{"seen": true})
	slices.Sort(gone)
	if diff := cmp.Diff([]string{"deleted", "vanished"}, gone); diff != "" || err != nil {
		t.Errorf("it tells of %v as gone, %v (-want +got):\n%s", gone, err, diff)
	}
}

func TestWatchPassesOverWhatItCannotRead(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	agents := b.Conn(t).Agents()
	kv, err := plain(t, b.URL()).KeyValue(t.Context(), "REACH_AGENTS")
	if err != nil {
		t.Fatal(err)
	}
	items := make(chan broker.Item[broker.AgentRecord], 100)
	ready, err := agents.Watch(t.Context(), func(i broker.Item[broker.AgentRecord]) { items <- i })
	if err != nil {
		t.Fatal(err)
	}
	receive(t, "the start", ready)
	for _, garbage := range []string{"", "null garbage", "[1,2]", `{"registration":7}`, "\xff"} {
		if _, err := kv.PutString(t.Context(), "garbage", garbage); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := agents.Get(t.Context(), "garbage"); err == nil {
		t.Error("garbage was read")
	}
	if _, err := agents.Put(t.Context(), "fine", record("1.0.0")); err != nil {
		t.Fatal(err)
	}
	if item := receive(t, "the good record", items); item.Key != "fine" {
		t.Errorf("got %+v", item)
	}
	if err := kv.Delete(t.Context(), "fine"); err != nil {
		t.Fatal(err)
	}
	if item := receive(t, "the delete", items); item.Key != "fine" || !item.Deleted {
		t.Errorf("got %+v", item)
	}
	if _, err := agents.Create(t.Context(), "fine", record("2.0.0"), 0); err != nil {
		t.Errorf("create after a delete: %v", err)
	}
}

func TestWatchOfABucketThatIsNotThere(t *testing.T) {
	t.Parallel()
	conn, _ := bare(t, brokertest.New(t))
	if _, err := conn.Agents().Watch(within(t, 10*time.Second), func(broker.Item[broker.AgentRecord]) {}); err == nil {
		t.Error("it is watched")
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	got := broker.IdempotencyKey("default", "notes-2026-11-29-7")
	if len(got) != 52 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("got %q", got)
	}
	if got != broker.IdempotencyKey("default", "notes-2026-11-29-7") {
		t.Error("the same msg_id has two keys")
	}
	for _, other := range []string{
		broker.IdempotencyKey("other", "notes-2026-11-29-7"), broker.IdempotencyKey("default", "notes"), broker.IdempotencyKey("", ""),
	} {
		if other == got {
			t.Error("two msg_ids have one key")
		}
	}
}
