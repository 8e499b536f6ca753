package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestMain(m *testing.M) {
	if os.Getenv(childURL) != "" {
		if err := runAsChild(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	brokertest.Main(m)
}

// house is a small dispatcher that does as its script says, over a real broker and with a real ledger: what a test does not
// script is done as by the wire's rules.
type house struct {
	t      testing.TB
	broker *brokertest.Broker
	conn   *broker.Conn
	subs   []*broker.Subscription

	mu            sync.Mutex
	registrations []schemas.Registration
	pulls         []schemas.Pull
	begins        []schemas.Begin
	releases      []schemas.Release
	results       []schemas.Result
	beats         []schemas.Heartbeat
	receipts      []schemas.Receipt
	open          map[string]broker.Entry // assignments that nobody has begun, finished or released, by task
	silent        bool                    // pulls and heartbeats bring no assignments

	// Scripts; nil does what the rules say. n counts from 1.
	onRegister func(n int, r schemas.Registration) (schemas.Registered, *schemas.Error)
	onBeat     func(n int, b schemas.Heartbeat) *schemas.Error
	onPull     func(n int) bool // false: no answer
	onBegin    func(n int, b schemas.Begin) reaction
	onFinish   func(n int, r schemas.Result) reaction
	onRelease  func(n int, b schemas.Release) reaction
}

// reaction is what a script does with a begin, result or release.
type reaction struct {
	swallow bool            // do what the rules say, and lose the answer
	ignore  bool            // do nothing, and do not answer
	answer  *schemas.Answer // instead of what the rules say
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, broker: brokertest.New(t), open: make(map[string]broker.Entry)}
	h.conn = h.broker.Conn(t)
	return h
}

// serve opens the house. The scripts must be in place.
func (h *house) serve() *house {
	h.t.Helper()
	api, err := h.conn.ServeAPI("1.0.0", map[string]func(context.Context, *broker.Request){"agent.register": h.register}, nil)
	h.keep(api, err)
	for subject, handler := range map[string]func(context.Context, *broker.Request){
		broker.SubjectPull(broker.Any):    h.pull,
		broker.SubjectBegin(broker.Any):   h.begin,
		broker.SubjectFinish(broker.Any):  h.finish,
		broker.SubjectRelease(broker.Any): h.release,
	} {
		h.keep(h.conn.Serve(subject, handler))
	}
	for subject, handler := range map[string]func(context.Context, *broker.Request){ // the last one is what the worker said last
		broker.SubjectHeartbeat(broker.Any): h.beat,
		broker.SubjectReceipt(broker.Any):   h.receipt,
	} {
		h.keep(h.conn.Serve(subject, handler, broker.Serial()))
	}
	if os.Getenv(brokertest.DisturbVariable) != "" {
		h.resend()
	}
	return h
}

// resend repairs a disturbed feed, as dispatchers do: it sends open assignments again.
func (h *house) resend() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for sleep(ctx, 200*time.Millisecond) {
			for _, e := range h.unfinished() {
				_ = h.conn.PublishEntry(broker.SubjectControl(e.Agent), e) // an outage: next time
			}
		}
	})
	h.t.Cleanup(func() { cancel(); running.Wait() })
}

func (h *house) keep(sub *broker.Subscription, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("serve: %v", err)
	}
	h.subs = append(h.subs, sub)
}

// leave closes the house, as if all dispatchers had died.
func (h *house) leave() {
	for _, sub := range h.subs {
		sub.Close()
	}
	h.subs = nil
}

// read decodes a request and adds it to a list; n is its number there.
func read[T any](h *house, r *broker.Request, list *[]T) (v T, n int) {
	if err := schemas.Accept(r.Data, &v); err != nil {
		h.t.Errorf("%s: the worker sent %v", r.Subject, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	*list = append(*list, v)
	return v, len(*list)
}

func (h *house) register(_ context.Context, r *broker.Request) {
	registration, n := read(h, r, &h.registrations)
	if problem := registration.Check(); problem != nil {
		h.t.Errorf("the registration breaks the rules: %v", problem)
	}
	answer := schemas.Registered{AgentID: registration.AgentID, State: schemas.AgentOnline}
	if h.onRegister != nil {
		var refused *schemas.Error
		if answer, refused = h.onRegister(n, registration); refused != nil {
			r.Fail(refused)
			return
		}
	}
	r.Reply(schemas.MustEncode(answer))
}

func (h *house) pull(ctx context.Context, r *broker.Request) {
	pull, n := read(h, r, &h.pulls)
	if h.onPull == nil || h.onPull(n) {
		h.answerHeld(ctx, r, pull.Held)
	}
}

func (h *house) beat(ctx context.Context, r *broker.Request) {
	beat, n := read(h, r, &h.beats)
	if h.onBeat != nil {
		if refused := h.onBeat(n, beat); refused != nil {
			r.Fail(refused)
			return
		}
	}
	h.answerHeld(ctx, r, beat.Held)
}

// answerHeld sends what is assigned to the agent and not held, and says what is held and no longer its own.
func (h *house) answerHeld(ctx context.Context, r *broker.Request, held []uint64) {
	end := schemas.PullEnd{Applied: 1 << 40}
	for _, e := range h.assigned(r.Agent) {
		if !slices.Contains(held, e.Sequence) {
			r.ReplyEntry(e)
			end.Count++
		}
	}
	for _, sequence := range held {
		if e, err := h.conn.Ledger().At(ctx, sequence); err == nil && h.moved(ctx, e) {
			end.NotYours = append(end.NotYours, sequence)
		}
	}
	r.ReplyEnd(schemas.MustEncode(end))
}

func (h *house) assigned(agent string) []broker.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []broker.Entry
	for _, e := range h.open {
		if e.Agent == agent && !h.silent {
			all = append(all, e)
		}
	}
	return all
}

func (h *house) unfinished() []broker.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.open))
}

// moved reports whether the task is assigned to another agent, or has ended by other means than a result.
func (h *house) moved(ctx context.Context, e broker.Entry) bool {
	last, err := h.conn.Ledger().LastAtLeader(ctx, e.TaskID)
	return err == nil && last.Sequence > e.Sequence && last.Agent != e.Agent
}

func (h *house) begin(ctx context.Context, r *broker.Request) {
	b, n := read(h, r, &h.begins)
	var script reaction
	if h.onBegin != nil {
		script = h.onBegin(n, b)
	}
	h.react(ctx, r, script, broker.Entry{
		TaskID: b.TaskID, Phase: schemas.PhaseBegun, Agent: r.Agent, Previous: b.Sequence, Write: b.WriteID,
	})
}

func (h *house) release(ctx context.Context, r *broker.Request) {
	b, n := read(h, r, &h.releases)
	var script reaction
	if h.onRelease != nil {
		script = h.onRelease(n, b)
	}
	h.react(ctx, r, script, broker.Entry{
		TaskID: b.TaskID, Phase: schemas.PhaseQueued, Agent: schemas.NoAgent, Previous: b.Sequence, Write: b.WriteID,
	})
}

func (h *house) finish(ctx context.Context, r *broker.Request) {
	result, n := read(h, r, &h.results)
	if problem := result.Check(); problem != nil {
		h.t.Errorf("the result breaks the rules: %v", problem)
	}
	var script reaction
	if h.onFinish != nil {
		script = h.onFinish(n, result)
	}
	h.react(ctx, r, script, broker.Entry{
		TaskID: result.TaskID, Phase: schemas.PhaseDone, Agent: r.Agent, Previous: result.Sequence, Write: result.WriteID, Body: r.Data,
	})
}

// react writes what the request asks for and answers, unless the script wants otherwise.
func (h *house) react(ctx context.Context, r *broker.Request, script reaction, e broker.Entry) {
	if script.ignore {
		return
	}
	answer := script.answer
	if answer == nil {
		answer = h.write(ctx, e)
	}
	if !script.swallow {
		r.Reply(schemas.MustEncode(answer))
	}
}

func (h *house) write(ctx context.Context, e broker.Entry) *schemas.Answer {
	e.Capability, e.TTL = "echo", time.Hour
	if e.Body == nil {
		e.Body = []byte("{}")
	}
	stored, err := h.conn.Ledger().Write(ctx, e)
	var conflict *broker.Conflict
	switch {
	case err == nil:
		h.mu.Lock()
		delete(h.open, e.TaskID)
		h.mu.Unlock()
		return &schemas.Answer{Outcome: schemas.OutcomeStored, Sequence: stored.Sequence}
	case errors.As(err, &conflict) && conflict.Last.Write == e.Write:
		return &schemas.Answer{Outcome: schemas.OutcomeAlreadyYours, Sequence: conflict.Last.Sequence}
	case errors.As(err, &conflict):
		return &schemas.Answer{Outcome: schemas.OutcomeSuperseded}
	}
	return &schemas.Answer{Outcome: schemas.OutcomeTryAgain}
}

func (h *house) receipt(_ context.Context, r *broker.Request) { read(h, r, &h.receipts) }

// task is one to be assigned.
type task struct {
	id         string
	agent      string
	previous   uint64
	effects    bool // not idempotent
	payload    string
	runLimit   time.Duration
	expires    time.Duration
	priority   *int
	capability string
	qos        schemas.QualityOfService
}

// assign writes an assignment to the ledger; the feed carries it.
func (h *house) assign(t task) broker.Entry {
	h.t.Helper()
	return h.store(h.entry(t))
}

// store writes an assignment, of which the house knows from then on that it is open.
func (h *house) store(e broker.Entry) broker.Entry {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	stored, err := h.conn.Ledger().Write(context.Background(), e)
	if err != nil {
		h.t.Fatalf("assign: %v", err)
	}
	h.open[stored.TaskID] = stored
	return stored
}

func (h *house) entry(t task) broker.Entry {
	if t.id == "" {
		t.id = schemas.NewTaskID()
	}
	if t.agent == "" {
		t.agent = "laptop-1"
	}
	if t.payload == "" {
		t.payload = `{"text":"Ships sail."}`
	}
	if t.capability == "" {
		t.capability = "echo"
	}
	if t.expires == 0 {
		t.expires = time.Hour
	}
	message := schemas.ReachMessage{
		TaskID: t.id, Tenant: schemas.DefaultTenant, Capability: t.capability, Payload: schemas.Payload(t.payload), Attempt: 1,
		ExpiresAt: schemas.At(time.Now().Add(t.expires)), Priority: t.priority, QualityOfService: t.qos,
		Assignment: &schemas.Assignment{AgentID: t.agent, Idempotent: !t.effects, RunTimeoutMS: t.runLimit.Milliseconds()},
		Hops:       []schemas.Hop{{Hop: schemas.HopSubmitted, At: schemas.At(time.Now()), By: "dispatcher-1"}},
	}
	return broker.Entry{
		TaskID: t.id, Phase: schemas.PhaseAssigned, Capability: t.capability, Agent: t.agent, Previous: t.previous,
		Body: schemas.MustEncode(message), TTL: 2 * time.Hour,
	}
}

// tell asks the worker of an agent, as a dispatcher would.
func (h *house) tell(c schemas.Control) schemas.ControlReply {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience) // longer than a cancel is waited for
	defer cancel()
	answer, err := h.conn.Request(ctx, broker.SubjectControl("laptop-1"), schemas.MustEncode(c))
	if err != nil {
		h.t.Fatalf("control %s: %v", c.Do, err)
	}
	var reply schemas.ControlReply
	if err := schemas.Accept(answer, &reply); err != nil {
		h.t.Fatalf("control %s: %v", c.Do, err)
	}
	return reply
}

// Looks at what the worker has sent.

func look[T any](h *house, list *[]T) []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(*list)
}

// released are the tasks that were handed back, in order; a release that was sent again counts once.
func (h *house) released() (ids []string) {
	for _, r := range look(h, &h.releases) {
		if !slices.Contains(ids, r.TaskID) {
			ids = append(ids, r.TaskID)
		}
	}
	return ids
}

// processes is how many have registered; one that has registered again counts once.
func (h *house) processes() int {
	ids := make(map[string]bool)
	for _, r := range look(h, &h.registrations) {
		ids[r.InstanceID] = true
	}
	return len(ids)
}

// lastBeat is the latest heartbeat; the zero value before the first.
func (h *house) lastBeat() (last schemas.Heartbeat) {
	if beats := look(h, &h.beats); len(beats) > 0 {
		last = beats[len(beats)-1]
	}
	return last
}

// awaitResult is the first result of a task.
func (h *house) awaitResult(taskID string) schemas.Result {
	h.t.Helper()
	var found schemas.Result
	brokertest.Eventually(h.t, "a result of "+taskID, func() bool {
		for _, r := range look(h, &h.results) {
			if r.TaskID == taskID {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

func (h *house) awaitDone(taskID string) {
	h.t.Helper()
	brokertest.Eventually(h.t, "the end of "+taskID, func() bool {
		e, err := h.conn.Ledger().LastAtLeader(context.Background(), taskID)
		return err == nil && e.Phase == schemas.PhaseDone
	})
}
