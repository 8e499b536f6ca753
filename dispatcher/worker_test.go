package dispatcher_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// scripted is a worker that does what a test tells it: it speaks the wire, and nothing of it runs by itself but its ears.
type scripted struct {
	h        *house
	t        testing.TB
	conn     *broker.Conn
	agentID  string
	instance string
	arrived  chan broker.Entry // assignments, by feed or sent again
	seen     map[uint64]bool   // sequences that next has given
	controls chan schemas.Control
	goesOn   atomic.Bool // it does not confirm a cancel

	registration schemas.Registration
	capabilities []string
	lastProbe    atomic.Pointer[schemas.Control]
	ill          atomic.Bool // its agent fails every probe

	mu     sync.Mutex
	after  uint64
	deaths []func()
}

// offer is what a scripted worker registers.
type offer struct {
	capability string
	slots      int
}

func newScripted(h *house, agentID string, offers ...offer) *scripted {
	h.t.Helper()
	var full []schemas.Offer
	for _, o := range offers {
		full = append(full, schemas.Offer{ID: o.capability, MaxConcurrency: o.slots})
	}
	return newScriptedWith(h, agentID, full...)
}

func newScriptedVersion(h *house, agentID, version string, o offer) *scripted {
	h.t.Helper()
	return newScriptedAs(h, agentID, version, schemas.Offer{ID: o.capability, MaxConcurrency: o.slots})
}

func newScriptedWith(h *house, agentID string, offers ...schemas.Offer) *scripted {
	h.t.Helper()
	return newScriptedAs(h, agentID, "1.0.0", offers...)
}

func newScriptedAs(h *house, agentID, version string, offers ...schemas.Offer) *scripted {
	t := h.t
	t.Helper()
	conn := h.broker.Conn(t)
	w := &scripted{
		h: h, t: t, conn: conn, agentID: agentID, instance: schemas.NewTaskID(),
		arrived: make(chan broker.Entry, 4096), controls: make(chan schemas.Control, 64), seen: make(map[uint64]bool),
	}
	r := schemas.Registration{AgentID: agentID, InstanceID: w.instance, Version: version, Transport: schemas.Transport{Type: "func"}}
	for _, o := range offers {
		w.capabilities = append(w.capabilities, o.ID)
		r.Capabilities = append(r.Capabilities, o)
	}
	w.registration = r
	w.listen() // first: what is assigned to it as soon as it has registered finds it there, however slow the machine is
	t.Cleanup(w.vanish)
	_, err := h.any().Register(t.Context(), &r)
	check(t, err)
	brokertest.Eventually(t, "every dispatcher knows "+agentID, func() bool { return h.know(w) })
	return w
}

func (w *scripted) listen() {
	w.t.Helper()
	feed, err := w.conn.FollowAssigned(w.agentID, w.arrive)
	check(w.t, err)
	control, err := w.conn.Serve(broker.SubjectControl(w.agentID), w.obey, broker.Plain())
	check(w.t, err)
	w.deaths = append(w.deaths, feed.Close, control.Close)
	check(w.t, w.conn.Flush(w.t.Context()))
}

// arrive keeps an assignment for the test. What does not fit is lost: nobody reads them in this test.
func (w *scripted) arrive(e broker.Entry) {
	select {
	case w.arrived <- e:
	default:
	}
}

func (w *scripted) obey(_ context.Context, r *broker.Request) {
	if e, carried := r.Entry(); carried {
		w.arrive(e)
		return
	}
	var c schemas.Control
	if schemas.Decode(r.Data, &c) != nil {
		return
	}
	if c.Do == schemas.DoProbe {
		w.lastProbe.Store(&c)
		r.Reply(schemas.MustEncode(w.probed()))
		return
	}
	if c.Do != schemas.DoPing {
		select {
		case w.controls <- c:
		default: // nobody reads them in this test
		}
	}
	r.Reply(schemas.MustEncode(schemas.ControlReply{OK: true, InstanceID: w.instance, Confirmed: !w.goesOn.Load() && c.Do == schemas.DoCancel}))
}

func (w *scripted) probed() schemas.ControlReply {
	if w.ill.Load() {
		return schemas.ControlReply{InstanceID: w.instance, Error: schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "refused")}
	}
	return schemas.ControlReply{OK: true, InstanceID: w.instance}
}

// vanish is a death: it no longer hears anything, and says nothing.
func (w *scripted) vanish() {
	w.mu.Lock()
	deaths := w.deaths
	w.deaths = nil
	w.mu.Unlock()
	for _, die := range deaths {
		die()
	}
}

// tell brings a dispatcher a step of a task, until somebody answers, as a worker does. Where the first answer was lost, the repeat finds
// that the step is made.
func (w *scripted) tell(subject string, step any) schemas.Answer {
	w.t.Helper()
	var answer schemas.Answer
	err := w.tryFor(patience/3, subject, step, &answer)
	for tries := 1; tries < 3 && errors.Is(err, context.DeadlineExceeded); tries++ {
		err = w.tryFor(patience/3, subject, step, &answer)
		if answer.Outcome == schemas.OutcomeAlreadyYours {
			answer.Outcome = schemas.OutcomeStored
		}
	}
	check(w.t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = max(w.after, answer.Sequence)
	return answer
}

// try asks once, of somebody who may not answer.
func (w *scripted) try(subject string, body, answer any) error {
	return w.tryFor(2*time.Second, subject, body, answer)
}

func (w *scripted) tryFor(within time.Duration, subject string, body, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	reply, err := w.conn.Request(ctx, subject, schemas.MustEncode(body))
	if err != nil {
		return err
	}
	return schemas.Decode(reply, answer)
}

// next is the next assignment that has not been given before.
func (w *scripted) next() assignment {
	w.t.Helper()
	for {
		if a := w.again(); w.isNew(a) {
			return a
		}
	}
}

// isNew reports whether an assignment has not been given before, and takes it as given: what is late is sent again.
func (w *scripted) isNew(a assignment) bool {
	was := w.seen[a.sequence]
	w.seen[a.sequence] = true
	return !was
}

// again is the next assignment that arrives, though it may be one that has arrived before.
func (w *scripted) again() assignment {
	w.t.Helper()
	select {
	case e := <-w.arrived:
		return w.read(e)
	case <-time.After(patience):
		w.t.Fatalf("no assignment arrived at %s", w.agentID)
		return assignment{}
	}
}

// assignment is a task in a scripted worker's hands.
type assignment struct {
	sequence uint64
	message  schemas.ReachMessage
}

func (w *scripted) read(e broker.Entry) assignment {
	w.t.Helper()
	a := assignment{sequence: e.Sequence}
	check(w.t, schemas.Decode(e.Body, &a.message))
	return a
}

func (w *scripted) begin(a assignment) schemas.Answer {
	w.t.Helper()
	return w.tell(broker.SubjectBegin(w.agentID), schemas.Begin{
		TaskID: a.message.TaskID, Attempt: a.message.Attempt, Sequence: a.sequence, InstanceID: w.instance, WriteID: schemas.NewTaskID()[24:],
	})
}

func (w *scripted) release(a assignment) schemas.Answer {
	w.t.Helper()
	return w.tell(broker.SubjectRelease(w.agentID), schemas.Release{
		TaskID: a.message.TaskID, Attempt: a.message.Attempt, Sequence: a.sequence, InstanceID: w.instance, WriteID: schemas.NewTaskID()[24:],
	})
}

// complete finishes a task with its own payload as the result: it is an echo.
func (w *scripted) complete(a assignment) schemas.Answer {
	w.t.Helper()
	return w.finish(w.result(a, schemas.StateCompleted))
}

func (w *scripted) result(a assignment, state schemas.State) schemas.Result {
	now := time.Now()
	r := schemas.Result{
		TaskID: a.message.TaskID, AgentID: w.agentID, Attempt: a.message.Attempt, Sequence: a.sequence, InstanceID: w.instance,
		WriteID: schemas.NewTaskID()[24:], State: state, StartedAt: schemas.At(now.Add(-time.Millisecond)), FinishedAt: schemas.At(now),
	}
	if state == schemas.StateCompleted {
		r.Result = a.message.Payload
	}
	return r
}

func (w *scripted) fail(a assignment, ran schemas.Ran, e *schemas.Error) schemas.Answer {
	w.t.Helper()
	r := w.result(a, schemas.StateFailed)
	r.Ran, r.Error = ran, e
	return w.finish(r)
}

func (w *scripted) finish(r schemas.Result) schemas.Answer {
	w.t.Helper()
	return w.tell(broker.SubjectFinish(w.agentID), r)
}

// pull asks for work with so many free slots, and gives what it got.
func (w *scripted) pull(capability string, free int, held ...uint64) ([]assignment, schemas.PullEnd) {
	w.t.Helper()
	w.mu.Lock()
	p := schemas.Pull{
		AgentID: w.agentID, InstanceID: w.instance, Free: map[string]int{capability: free}, FreeTotal: free, Held: held, After: w.after,
	}
	w.mu.Unlock()
	return w.entries(broker.SubjectPull(w.agentID), p)
}

func (w *scripted) entries(subject string, body any) ([]assignment, schemas.PullEnd) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var got []assignment
	reply, err := w.conn.RequestEntries(ctx, subject, schemas.MustEncode(body), func(e broker.Entry) { got = append(got, w.read(e)) })
	check(w.t, err)
	var end schemas.PullEnd
	check(w.t, schemas.Decode(reply, &end))
	return got, end
}

func (w *scripted) beat(state schemas.AgentState, capabilities []string, held ...uint64) ([]assignment, schemas.PullEnd) {
	w.t.Helper()
	return w.entries(broker.SubjectHeartbeat(w.agentID), schemas.Heartbeat{
		AgentID: w.agentID, InstanceID: w.instance, State: state, Capabilities: capabilities, Held: held, InFlight: len(held), Time: schemas.At(time.Now()),
	})
}

// keepBeating sends heartbeats until the worker vanishes or the test ends. What their answers bring is heard like what the feed does.
func (w *scripted) keepBeating() {
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			w.beatQuietly(ctx)
			pauseUntil(ctx, time.Now().Add(300*time.Millisecond))
		}
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaths = append(w.deaths, func() { stop(); <-stopped })
}

// beatQuietly is one heartbeat. A dispatcher that does not answer is no failure of the test.
func (w *scripted) beatQuietly(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = w.conn.RequestEntries(ctx, broker.SubjectHeartbeat(w.agentID), schemas.MustEncode(schemas.Heartbeat{
		AgentID: w.agentID, InstanceID: w.instance, State: schemas.AgentOnline, Capabilities: w.capabilities, Time: schemas.At(time.Now()),
	}), w.arrive)
}

// receipt says that a task is held, and that its agent was asked; it returns once every dispatcher has heard that.
func (w *scripted) receipt(a assignment, running bool) {
	w.t.Helper()
	w.h.knows(a)
	check(w.t, w.conn.Publish(broker.SubjectReceipt(w.agentID), schemas.MustEncode(schemas.Receipt{
		AgentID: w.agentID, InstanceID: w.instance, Time: schemas.At(time.Now()),
		Tasks: []schemas.ReceiptTask{{TaskID: a.message.TaskID, Attempt: a.message.Attempt, Sequence: a.sequence, Running: running}},
	})))
	for _, d := range w.h.dispatchers {
		brokertest.Eventually(w.t, "a receipt is heard", func() bool { return d.HasHeard(a.message.TaskID, running) })
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
