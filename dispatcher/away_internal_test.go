package dispatcher

import (
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// A task fails while its message cannot be read: it ends later, and its dead letter has the whole message.
func TestNoDeadLetterIsKeptWithoutAPayloadThatIsThere(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	relay := brokertest.Proxy(t, b.URL())
	d := runOn(t, b.Connect(t, func(cfg *broker.Config) {
		cfg.URL, cfg.TryTimeout, cfg.Grace = relay.URL(), 200*time.Millisecond, 50*time.Millisecond
	}))
	t.Cleanup(relay.Resume)
	task, err := d.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{
		Capability: "echo", Payload: schemas.Payload(`{"n":1}`), WaitForAgent: true,
	})
	check(t, err)
	d.view.mu.Lock()
	open := d.view.tasks.Open(task.TaskID)
	d.view.mu.Unlock()
	d.bodies.take(open.Sequence) // nothing but the ledger has it

	relay.Pause()
	why := schemas.NewError(schemas.Unavailable, schemas.ReasonTooManyAttempts, "it was lost")
	if err := d.fail(broker.WithPatience(t.Context(), 200*time.Millisecond), open, why); err == nil {
		t.Error("a task ended while the broker was away")
	}
	relay.Resume()
	check(t, d.conn.Flush(t.Context()))
	check(t, d.fail(t.Context(), open, why))
	entry, err := d.last(t.Context(), task.TaskID)
	check(t, err)
	event, err := decodeEvent(entry)
	check(t, err)
	if !strings.Contains(string(event.Record.Message), `"payload":{"n":1}`) {
		t.Errorf("the dead letter has %s", event.Record.Message)
	}
}

// What a dispatcher has told just before its connection was lost may not have arrived: it is told again. What was told long before is not.
func TestWhatWasToldIntoALostConnectionIsToldAgain(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	relay := brokertest.Proxy(t, b.URL())
	d := runOn(t, b.Connect(t, func(cfg *broker.Config) { cfg.URL = relay.URL() }))
	task, err := d.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "echo", WaitForAgent: true})
	check(t, err)
	told := make(chan string, 16)
	listener := b.Conn(t)
	subscription, err := listener.Subscribe(broker.SubjectResult(schemas.DefaultTenant, task.TaskID), func(_ string, body []byte) { told <- string(body) })
	check(t, err)
	t.Cleanup(subscription.Close)
	check(t, listener.Flush(t.Context()))
	_, err = d.Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	first := <-told

	relay.Cut()
	if again := <-told; again != first || !strings.Contains(first, `"state":"canceled"`) {
		t.Errorf("told %s, and then %s", first, again)
	}
	if old := d.ownSince(d.now().Add(time.Minute)); len(old) > 0 {
		t.Errorf("of what ended before this is told: %v", old)
	}
}

// A dispatcher is to tell results in the place of a peer that has gone, and cannot read them just then: they are told later, as they stand
// then.
func TestWhatCannotBeToldAgainNowIsToldLater(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	relay := brokertest.Proxy(t, b.URL())
	d := runOn(t, b.Connect(t, func(cfg *broker.Config) {
		cfg.URL, cfg.TryTimeout, cfg.Grace = relay.URL(), 200*time.Millisecond, 50*time.Millisecond
	}))
	t.Cleanup(relay.Resume)
	task, err := d.Submit(t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{Capability: "echo", WaitForAgent: true})
	check(t, err)
	_, err = d.Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	told := make(chan string, 16)
	listener := b.Conn(t)
	subscription, err := listener.Subscribe(broker.SubjectResult(schemas.DefaultTenant, task.TaskID), func(_ string, body []byte) { told <- string(body) })
	check(t, err)
	t.Cleanup(subscription.Close)
	check(t, listener.Flush(t.Context()))

	relay.Pause()
	d.untold([]endedAt{{task.TaskID, time.Now()}})
	d.tellAgain <- struct{}{}
	brokertest.Eventually(t, "it cannot be told", func() bool {
		d.view.mu.Lock()
		defer d.view.mu.Unlock()
		return len(d.tellAgain) == 0 && len(d.view.untold) > 0
	})
	relay.Resume()
	if said := <-told; !strings.Contains(said, `"state":"canceled"`) {
		t.Errorf("told %s", said)
	}
}
