package dispatcher

import (
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// away is a dispatcher whose broker can be away.
type away struct {
	*Dispatcher
	t      *testing.T
	broker *brokertest.Broker
	relay  *brokertest.Relay
}

func newAway(t *testing.T) *away {
	t.Helper()
	b := brokertest.New(t)
	relay := brokertest.Proxy(t, b.URL())
	t.Cleanup(relay.Resume)
	d := runOn(t, b.Connect(t, func(cfg *broker.Config) {
		cfg.URL, cfg.TryTimeout, cfg.Grace = relay.URL(), 200*time.Millisecond, 50*time.Millisecond
	}))
	return &away{d, t, b, relay}
}

// waiting is a task that waits for an agent, and what is told of its end.
func (a *away) waiting(payload string) (task *schemas.Task, told <-chan string) {
	a.t.Helper()
	task, err := a.Submit(a.t.Context(), schemas.DefaultTenant, &schemas.ReachMessage{
		Capability: "echo", Payload: schemas.Payload(payload), WaitForAgent: true,
	})
	check(a.t, err)
	heard := make(chan string, 16)
	listener := a.broker.Conn(a.t)
	subscription, err := listener.Subscribe(broker.SubjectResult(schemas.DefaultTenant, task.TaskID), func(_ string, body []byte) { heard <- string(body) })
	check(a.t, err)
	a.t.Cleanup(subscription.Close)
	check(a.t, listener.Flush(a.t.Context()))
	return task, heard
}

// hear is what is told next.
func (a *away) hear(told <-chan string) string {
	a.t.Helper()
	select {
	case said := <-told:
		return said
	case <-time.After(30 * time.Second):
		a.t.Fatal("waited 30 s in vain: nothing is told")
		return ""
	}
}

func (a *away) cancel(task *schemas.Task) {
	a.t.Helper()
	_, err := a.Cancel(a.t.Context(), schemas.DefaultTenant, task.TaskID)
	check(a.t, err)
}

func (a *away) open(task *schemas.Task) *index.Task {
	a.view.mu.Lock()
	defer a.view.mu.Unlock()
	return a.view.tasks.Open(task.TaskID)
}

// A task fails while its message cannot be read: it ends later, and its dead letter has the whole message.
func TestNoDeadLetterIsKeptWithoutAPayloadThatIsThere(t *testing.T) {
	t.Parallel()
	a := newAway(t)
	task, _ := a.waiting(`{"n":1}`)
	open := a.open(task)
	a.bodies.take(open.Sequence) // nothing but the ledger has it

	a.relay.Pause()
	why := schemas.NewError(schemas.Unavailable, schemas.ReasonTooManyAttempts, "it was lost")
	if err := a.fail(broker.WithPatience(t.Context(), 200*time.Millisecond), open, why); err == nil {
		t.Error("a task ended while the broker was away")
	}
	a.relay.Resume()
	check(t, a.conn.Flush(t.Context()))
	check(t, a.fail(t.Context(), open, why))
	entry, err := a.last(t.Context(), task.TaskID)
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
	a := newAway(t)
	task, told := a.waiting("1")
	a.cancel(task)
	first := a.hear(told)

	a.relay.Cut()
	if again := a.hear(told); again != first || !strings.Contains(first, `"state":"canceled"`) {
		t.Errorf("told %s, and then %s", first, again)
	}
	if old := a.ownSince(a.now().Add(time.Minute)); len(old) > 0 {
		t.Errorf("of what ended before this is told: %v", old)
	}
}

// A dispatcher is to tell results in the place of a peer that has gone, and cannot read them just then: they are told later, as they stand
// then.
func TestWhatCannotBeToldAgainNowIsToldLater(t *testing.T) {
	t.Parallel()
	a := newAway(t)
	task, told := a.waiting("1")
	a.cancel(task)
	first := a.hear(told)

	a.relay.Pause()
	a.untold([]endedAt{{task.TaskID, time.Now()}})
	a.tellUntold(broker.WithPatience(t.Context(), 200*time.Millisecond))
	a.relay.Resume()
	if again := a.hear(told); again != first {
		t.Errorf("told %s, and then %s", first, again)
	}
}
