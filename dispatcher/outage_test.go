package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestNobodyIsJudgedWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	cfg, c := quick(), new(clock)
	cfg.Now = c.now
	h := newHouse(t, cfg, cfg)
	b := h.broker.(*brokertest.Broker)
	w := newScripted(h, "laptop-1", offer{"test_run", 1})
	w.keepBeating()
	h.submit(work())
	a := w.next()
	begun := w.begin(a)
	if begun.Outcome != schemas.OutcomeStored {
		t.Fatalf("begin: got %+v", begun)
	}
	b.Stop()
	c.pass(2 * cfg.HeartbeatTTL)
	for _, d := range h.dispatchers {
		brokertest.Eventually(t, "the outage is noticed", func() bool { return !d.IsCurrent() })
	}
	b.Start()
	pauseUntil(t.Context(), time.Now().Add(time.Second)) // for whoever would have judged
	a.sequence = begun.Sequence
	r := w.result(a, schemas.StateCompleted)
	r.Result = schemas.Payload(`{"passed":true,"output":"ok"}`)
	w.finishEventually(r)
}

// apart is a broker in a process of its own.
type apart struct{ *brokertest.Process }

func (p apart) Conn(t testing.TB) *broker.Conn {
	t.Helper()
	return p.Connect(t)
}

// Nobody waits long for a broker that is away, or hangs: what is said then may be said again.
func TestASubmitIsAnsweredSoonWhateverTheBrokerDoes(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.SubmitWait = 200 * time.Millisecond
	child := brokertest.Child(t)
	h := &house{t: t, broker: apart{child}}
	h.start(cfg)
	newScripted(h, "laptop-1", offer{"echo", 1})
	refused := func(how string) {
		t.Helper()
		for _, key := range []string{"", "a"} {
			m := echo(`{}`)
			m.MsgID = key
			asked := time.Now()
			_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
			if e := wantCode(t, err, schemas.Unavailable, ""); !e.Retryable {
				t.Errorf("the broker %s: %v is not to be tried again", how, err)
			}
			if took := time.Since(asked); took > 5*time.Second { // half of what a write may take that nobody waits for
				t.Errorf("the broker %s, and it took %v to say so", how, took)
			}
		}
	}
	child.Stop()
	refused("hangs")
	child.Continue()
	child.Kill()
	refused("is away")
}

// finishEventually brings a result home as soon as there is somebody to take it; it must be taken.
func (w *scripted) finishEventually(r schemas.Result) {
	w.t.Helper()
	brokertest.Eventually(w.t, "an answer to the finish", func() bool {
		var answer schemas.Answer
		if w.try(broker.SubjectFinish(w.agentID), r, &answer) != nil || answer.Outcome == schemas.OutcomeTryAgain {
			return false
		}
		if answer.Outcome == schemas.OutcomeSuperseded {
			w.t.Fatalf("the task is no longer %s's: %+v", w.agentID, answer.Error)
		}
		return true
	})
}

// newDeafHouse is a house with a second dispatcher that hears nothing of the feed: it knows what it has written itself, and of the others
// what it reads once a second.
func newDeafHouse(t *testing.T) (h *house, deaf *running) {
	t.Helper()
	b := brokertest.New(t)
	h = &house{t: t, broker: b}
	h.start(quick())
	hearsNothing := func(c *broker.Config) {
		c.Disturb = func(func(broker.Entry)) func(broker.Entry) { return func(broker.Entry) {} }
	}
	return h, h.startOn(b.Connect(t, hearsNothing), quick())
}

// What a dispatcher that hears nothing writes has to wait behind what another has written before.
func TestNobodySeesATaskGoBack(t *testing.T) {
	t.Parallel()
	h, deaf := newDeafHouse(t)
	m := echo(`{}`)
	m.WaitForAgent = true
	for range 30 {
		task, err := deaf.Submit(t.Context(), schemas.DefaultTenant, &m)
		check(t, err)
		brokertest.Eventually(t, "the task in the index", func() bool {
			page, err := deaf.ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{State: schemas.StateSubmitted})
			return err == nil && len(page.Items) > 0 && page.Items[0].TaskID == task.TaskID
		})
		h.submit(m)
		_, err = deaf.Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
		check(t, err)
		if now, err := deaf.Task(t.Context(), schemas.DefaultTenant, task.TaskID); err != nil || !now.State.Terminal() {
			t.Fatalf("a canceled task is seen as %+v (%v)", now, err)
		}
	}
}

// A task ends at one dispatcher, and another has not heard of that yet: whoever asks it is not told that the task is open.
func TestNobodySeesATaskOpenAfterItsEnd(t *testing.T) {
	t.Parallel()
	h, deaf := newDeafHouse(t)
	m := echo(`{}`)
	m.WaitForAgent = true
	for n := range 30 {
		m.MsgID = fmt.Sprint("ended ", n)
		task, err := deaf.Submit(t.Context(), schemas.DefaultTenant, &m)
		check(t, err)
		_, err = h.any().Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
		check(t, err)
		if now, err := deaf.Task(t.Context(), schemas.DefaultTenant, task.TaskID); err != nil || !now.State.Terminal() {
			t.Fatalf("a canceled task is seen as %+v (%v)", now, err)
		}
		if again, err := deaf.Submit(t.Context(), schemas.DefaultTenant, &m); err != nil || again.TaskID != task.TaskID || !again.State.Terminal() {
			t.Fatalf("its repeat is answered with %+v (%v)", again, err)
		}
	}
}

// relayed is a broker that is reached through a relay.
type relayed struct{ *brokertest.Relay }

func (r relayed) Conn(t testing.TB) *broker.Conn {
	t.Helper()
	conn, err := broker.Connect(t.Context(), broker.Config{URL: r.URL(), Name: t.Name()})
	check(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func TestAWorkerThatComesBackAfterItsDispatcherKeepsItsTask(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.DisconnectGrace = patience
	h := newHouse(t, cfg)
	b := h.broker.(*brokertest.Broker)
	relay := brokertest.Proxy(t, b.URL())
	newScripted(h, "laptop-2", offer{"echo", 1}).keepBeating()
	h.broker = relayed{relay}
	late := newScripted(h, "laptop-1", offer{"echo", 1})
	m := echo(`{}`)
	m.PreferAgent = "laptop-1"
	h.submit(m)
	a := late.next()
	relay.Pause()
	b.Stop()
	b.Start()
	pauseUntil(t.Context(), time.Now().Add(2*time.Second)) // while it is looked for
	relay.Resume()
	late.finishEventually(late.result(a, schemas.StateCompleted))
}
