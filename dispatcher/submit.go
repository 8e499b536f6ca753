package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// maxTaskIDAge is how old a task_id made by a caller's SDK may be: an old one might belong to a task that is already forgotten.
const maxTaskIDAge = time.Hour

// Submit accepts a task. Nothing is written for a message that is refused; once Submit has returned a task, it is durable.
//
// A message with a msg_id that was used before gets the task of then. A message with a task_id, which only our own SDK sends, may
// be repeated after a lost reply.
func (d *Dispatcher) Submit(ctx context.Context, tenant string, message *schemas.ReachMessage) (*schemas.Task, error) {
	return d.counted(d.submit(ctx, tenant, message, nil))
}

// SubmitFrom is Submit for a message whose payload is read where its caller has it, and never held whole.
func (d *Dispatcher) SubmitFrom(ctx context.Context, tenant string, message *schemas.ReachMessage, payload io.ReadSeeker) (*schemas.Task, error) {
	size, err := payload.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	m := *message
	m.PayloadRef = notKeptYet(size)
	return d.counted(d.submit(ctx, tenant, &m, lent{payload}))
}

// counted counts a refusal.
func (d *Dispatcher) counted(task *schemas.Task, err error) (*schemas.Task, error) {
	if err != nil {
		d.metrics.Refused(schemas.AsError(err).Code)
	}
	return task, err
}

func (d *Dispatcher) submit(ctx context.Context, tenant string, message *schemas.ReachMessage, from io.ReadSeekCloser) (*schemas.Task, error) {
	ctx = broker.WithPatience(ctx, d.cfg.SubmitWait)
	m, err := d.accept(tenant, message)
	if err != nil {
		return nil, err
	}
	if from == nil {
		from = d.staged(ctx, m)
	}
	payload, release, err := d.receive(ctx, m, from)
	defer release()
	if err != nil {
		return nil, err
	}
	key, known, err := d.lookUp(ctx, m, payload)
	if err != nil {
		return nil, err
	}
	if known != nil {
		return known, nil
	}
	if key != nil && key.record.TaskID != "" {
		m.TaskID = key.record.TaskID
	}
	task, err := d.place(ctx, m, payload, key)
	switch {
	case err == nil:
		return task, nil
	case key != nil && key.record.TaskID != "":
		return d.awaitFirst(ctx, m, err)
	case message.TaskID != "":
		return d.repeated(ctx, m, err)
	}
	return nil, err
}

// repeated answers a message that cannot be taken now, but may be the repeat of one that was: then its task counts.
func (d *Dispatcher) repeated(ctx context.Context, m *schemas.ReachMessage, refusal error) (*schemas.Task, error) {
	if task, err := d.Task(ctx, m.Tenant, m.TaskID); err == nil {
		return task, nil
	}
	return nil, refusal
}

// accept checks the envelope and makes the message that the ledger will hold: what only a dispatcher may set is set here.
func (d *Dispatcher) accept(tenant string, message *schemas.ReachMessage) (*schemas.ReachMessage, error) {
	m := *message
	m.Tenant, m.Schedule, m.Attempt, m.Assignment, m.Hops = tenant, "", 0, nil, nil
	m.SubmittedAt = schemas.At(d.now())
	if m.Payload == nil && m.PayloadRef == nil {
		m.Payload = schemas.Payload("{}")
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	if size := payloadOf(&m).size(); size > int64(d.cfg.MaxPayload) {
		return nil, payloadTooLarge(size, d.cfg.MaxPayload)
	}
	if err := d.checkTaskID(m.TaskID); err != nil {
		return nil, err
	}
	if err := d.checkCallback(m.Callback); err != nil {
		return nil, err
	}
	d.fillIn(&m)
	return &m, nil
}

func (d *Dispatcher) checkTaskID(id string) error {
	if id == "" {
		return nil
	}
	if err := schemas.CheckTaskID(id); err != nil {
		return err
	}
	if age := d.now().Sub(time.UnixMilli(schemas.TaskIDTime(id))); age.Abs() > maxTaskIDAge {
		return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadName, "the task_id is not fresh: leave it out, or make a new one").
			With("field", "/task_id")
	}
	return nil
}

func (d *Dispatcher) fillIn(m *schemas.ReachMessage) {
	if m.TaskID == "" {
		m.TaskID = schemas.NewTaskID()
	}
	if m.ResponseMode == "" {
		m.ResponseMode = schemas.ModeAsync
	}
	if m.QualityOfService == "" {
		m.QualityOfService = schemas.QoSStandard
	}
	if m.ExpiresAt.IsZero() {
		m.ExpiresAt = schemas.At(latest(m.SubmittedAt.Time, m.NotBefore.Time).Add(d.cfg.Expiry))
	}
	retention := d.cfg.Retention
	if m.MsgID != "" {
		retention = max(retention, retentionWithKey)
	}
	m.ForgetAt = schemas.At(m.ExpiresAt.Add(retention))
	m.TraceID, m.Traceparent = trace(m.TraceID, m.Traceparent)
}

// maxLife is how far ahead a task may expire. The broker counts times to live in nanoseconds: one that ends centuries from now would
// be over at once there, and the task forgotten with it.
const maxLife = 10 * 365 * 24 * time.Hour

// timely refuses a message whose time has passed, or is too far away. Of one that repeats an earlier one it is not asked: it gets the
// task of then.
func timely(m *schemas.ReachMessage) error {
	switch {
	case !m.ExpiresAt.After(m.SubmittedAt.Time):
		return schemas.NewError(schemas.InvalidArgument, schemas.ReasonExpired, "expires_at has passed").With("field", "/expires_at")
	case m.NotBefore.After(m.SubmittedAt.Add(maxLife)): // named first: an expiry follows from it
		return tooFar("not_before")
	case m.ExpiresAt.After(m.SubmittedAt.Add(maxLife)):
		return tooFar("expires_at")
	}
	return nil
}

func tooFar(field string) error {
	const expected = "a time within the next 10 years"
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "%s takes %s", field, expected).
		With("field", "/"+field).With("expected", expected)
}

// place routes a message and writes it: assigned where an agent has a free slot, else queued.
func (d *Dispatcher) place(ctx context.Context, m *schemas.ReachMessage, payload *body, key *key) (*schemas.Task, error) {
	start := d.clock()
	if err := timely(m); err != nil {
		return nil, d.late(ctx, m, key, err)
	}
	if err := d.admit(); err != nil {
		return nil, err
	}
	target, err := d.resolve(ctx, m, payload)
	if err != nil {
		return nil, err
	}
	m.Hops = d.hop(nil, schemas.HopSubmitted, nil)
	misfits, err := d.misfits(ctx, m, payload)
	if err != nil {
		return nil, err
	}
	d.awaitAdopted(ctx, m)
	c, err := d.route(m, target, misfits)
	if err != nil {
		return nil, err
	}
	if err := d.claim(ctx, m, key); err != nil {
		d.giveBack(c)
		return nil, err
	}
	c.taskID = m.TaskID // an equal submit may have been first with the key
	if payload.from != nil {
		c.payload = payload
	}
	done, err := d.create(ctx, c)
	if err == nil {
		d.metrics.Submitted(m.Capability, d.clock().Sub(start))
	}
	return d.placed(done.event, m, err)
}

// awaitAdopted lets a message wait for the only agent that could take it, where that has just posted itself and is being adopted. One
// that may be queued need not.
func (d *Dispatcher) awaitAdopted(ctx context.Context, m *schemas.ReachMessage) {
	if m.WaitForAgent || m.Schedule != "" || m.NotBefore.After(m.SubmittedAt.Time) {
		return
	}
	d.until(ctx, adoptedWithin, func() bool {
		d.view.mu.Lock()
		defer d.view.mu.Unlock()
		return !d.view.roster.comes(m.Capability, d.judgement())
	})
}

// admit refuses new tasks while the ledger is nearly full; what is begun can always end.
func (d *Dispatcher) admit() error {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	full := d.view.messages > d.cfg.MaxMessages/10*8 || d.cfg.MaxBytes > 0 && d.view.bytes > d.cfg.MaxBytes/10*8
	if !full {
		return nil
	}
	return schemas.NewError(schemas.ResourceExhausted, schemas.ReasonLedgerFull,
		"the ledger is nearly full (%d messages, %d bytes): try again later, or raise its bounds", d.view.messages, d.view.bytes)
}

// routed is the detail of the routed hop: how a decision came about.
type routed struct {
	Rule       string      `json:"rule"`
	Route      string      `json:"route,omitzero"`
	Share      string      `json:"share,omitzero"`        // of a split by version
	Missed     bool        `json:"share_missed,omitzero"` // no agent of the share is there: the others were looked at
	Meant      string      `json:"meant,omitzero"`        // what the intent was taken for, by its meaning
	Similarity float64     `json:"similarity,omitzero"`
	Preferred  string      `json:"preferred,omitzero"` // the agent that the caller would rather have
	Winner     string      `json:"winner,omitzero"`
	Chain      []string    `json:"chain,omitempty"`
	Online     int         `json:"online,omitzero"`
	From       string      `json:"from,omitzero"`
	Code       string      `json:"code,omitzero"`
	Reason     string      `json:"reason,omitzero"`
	Candidates []weighed   `json:"candidates,omitempty"` // the best, in order
	Left       []exclusion `json:"left_out,omitempty"`

	// Factors are those that have a weight in the scores: a value for each of Candidates, in their order, or one where all are alike.
	Factors map[string][]float64 `json:"factors,omitempty"`
}

// weighed is a candidate with its score.
type weighed struct {
	AgentID string  `json:"agent_id"`
	Score   float64 `json:"score"`
	Taken   float64 `json:"taken"` // the share of its slots
}

// told adds a plan to the detail of its hop.
func (p plan) told(hop routed) routed {
	hop.Winner, hop.Chain, hop.Online, hop.Left, hop.Factors = p.agent, p.chain, p.online, p.left, p.factors()
	hop.Preferred, hop.Missed = p.preferred, p.missed
	for _, r := range p.best {
		hop.Candidates = append(hop.Candidates, weighed{r.AgentID, round(r.Score), round(r.Taken())})
	}
	return hop
}

// factors are those of the best that count, as a hop has them.
func (p plan) factors() map[string][]float64 {
	if len(p.best) == 0 {
		return nil
	}
	told := make(map[string][]float64)
	for _, candidate := range p.best {
		values := candidate.Factors()
		for _, f := range candidate.Weighty() {
			told[f.String()] = append(told[f.String()], round(values[f]))
		}
	}
	for name, values := range told {
		if len(slices.Compact(slices.Clone(values))) == 1 {
			told[name] = values[:1]
		}
	}
	return told
}

// round keeps three decimals: enough to see who was better.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// excess is how far beyond its slots an agent is filled; the caller holds the lock.
func (d *Dispatcher) excess(a *agent, p *post, slots int) int {
	mean, known := d.view.series(a, p).Mean()
	return excess(mean, known, slots, d.cfg.ExcessWait, d.cfg.MaxExcess)
}

// assignment is what the agent is told of its task; the caller holds the lock.
func (d *Dispatcher) assignment(m *schemas.ReachMessage, entry *dictionary.Entry, agentID string) *schemas.Assignment {
	a := &schemas.Assignment{}
	if m.Assignment != nil {
		*a = *m.Assignment
	}
	a.AgentID, a.Idempotent, a.Also, a.InstanceID, a.BegunAt, a.Shape = agentID, entry.Idempotent, "", "", schemas.Time{}, nil
	a.Tried = slices.Clone(a.Tried)
	var offer *schemas.Offer
	if agent := d.view.roster.agents[agentID]; agent != nil {
		offer = agent.record.Registration.Offer(m.Capability)
	}
	if offer != nil && offer.Idempotent != nil {
		a.Idempotent = a.Idempotent && *offer.Idempotent
	}
	a.ErrorMember = entry.Output.Names("error")
	hint := hintOf(offer, entry.Capability, d.view.speeds.Of(agentID, m.Capability))
	a.TimeoutHintMS, a.RunTimeoutMS = hint.Milliseconds(), runLimit(m, hint).Milliseconds()
	return a
}

// create writes an open phase of a task, and takes the slot that is reserved for it.
func (d *Dispatcher) create(ctx context.Context, c change) (stored, error) {
	if c.phase == schemas.PhaseAssigned {
		return d.writeReserved(ctx, c)
	}
	return d.write(ctx, c)
}

// giveBack returns the slot of a change that will not be written.
func (d *Dispatcher) giveBack(c change) {
	if c.phase != schemas.PhaseAssigned {
		return
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.view.slots.GiveBack(c.slot())
}

// placed answers a submit. A conflict means that the task is there already, by an equal submit or by our own lost one: the caller
// gets it as it stands.
func (d *Dispatcher) placed(event index.Event, m *schemas.ReachMessage, err error) (*schemas.Task, error) {
	var conflict *broker.Conflict
	if errors.As(err, &conflict) {
		return d.viewOf(m.Tenant, m.TaskID, conflict.Last)
	}
	if err != nil {
		return nil, refusal(fmt.Errorf("submit %s: %w", m.TaskID, err))
	}
	return d.openView(event), nil
}

// openView is a task as it was just written, with its place in the queue, whatever has become of it meanwhile: an agent that cannot be
// reached may have been left already.
func (d *Dispatcher) openView(event index.Event) *schemas.Task {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	if t := d.view.tasks.Open(event.TaskID); t != nil && t.Sequence == event.Sequence {
		return d.viewWithQueue(t)
	}
	task := index.TaskOf(event).View()
	return &task
}
