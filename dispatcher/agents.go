package dispatcher

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

const (
	registerTries = 8               // races that one registration may lose against changes of the same record
	rollCallFor   = 3 * time.Second // how long a starting dispatcher waits for the answers of all agents
	rollCallWidth = 64              // agents asked at a time
)

// watchRoster follows the registry.
func (d *Dispatcher) watchRoster(ctx context.Context) error {
	ready, err := d.conn.Agents().Watch(ctx, d.enrol)
	if err != nil {
		return fmt.Errorf("watch the registry: %w", err)
	}
	if err := waitReady(ctx, ready); err != nil {
		return err
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.view.roster.complete = true
	return nil
}

func (d *Dispatcher) enrol(item broker.Item[broker.AgentRecord]) {
	narrow, err := narrowed(&item.Value.Registration)
	if err != nil {
		d.log.Error().Err(err).Str("agent_id", item.Key).Msg("a registered schema cannot be used")
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	if item.Deleted {
		d.view.roster.drop(item.Key)
		d.view.speeds.Forget(item.Key)
		d.view.breakers.Forget(item.Key)
		d.view.prober.Leave(item.Key)
		return
	}
	d.view.roster.put(item.Value, item.Revision, narrow, d.clock())
}

// callRoll asks every registered agent whether it is there, so that a dispatcher that has just started does not hand out tasks to
// agents that have long gone. Nobody is judged dead by it.
func (d *Dispatcher) callRoll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rollCallFor)
	defer cancel()
	d.view.mu.Lock()
	ids := make([]string, 0, len(d.view.roster.agents))
	for id := range d.view.roster.agents {
		ids = append(ids, id)
	}
	d.view.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(rollCallWidth)
	for _, id := range ids {
		group.Go(func() error {
			d.ping(ctx, id)
			return nil
		})
	}
	_ = group.Wait()
}

// learn reads one agent from the registry: its registration may be newer than what the watch has brought.
func (d *Dispatcher) learn(ctx context.Context, agentID string) error {
	item, err := d.conn.Agents().Get(ctx, agentID)
	if errors.Is(err, broker.ErrNotFound) {
		return unknownAgent()
	}
	if err != nil {
		return refusal(err)
	}
	d.enrol(item)
	return nil
}

func unknownAgent() *schemas.Error {
	return schemas.NewError(schemas.NotFound, schemas.ReasonUnknownAgent, "there is no such agent (reach agent list)")
}

// Register takes an agent's declaration of itself. While no keys are configured it is online at once. A process that restarts
// replaces its predecessor; a second one is refused while the first answers.
func (d *Dispatcher) Register(ctx context.Context, registration *schemas.Registration) (*schemas.Registered, error) {
	r := *registration
	r.Capabilities = slices.Clone(r.Capabilities) // they are kept, and the caller may go on with its own
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := d.dictionary.Load().CheckRegistration(&r); err != nil {
		return nil, err
	}
	for range registerTries {
		item, err := d.tryRegister(ctx, r)
		if errors.Is(err, broker.ErrConflict) || errors.Is(err, broker.ErrExists) {
			continue
		}
		if err != nil {
			return nil, registrationError(err)
		}
		return d.registered(item), nil
	}
	return nil, schemas.NewError(schemas.Unavailable, "", "the registration is changing too fast; try again")
}

func registrationError(err error) error {
	var e *schemas.Error
	if errors.As(err, &e) {
		return e
	}
	return refusal(err)
}

func (d *Dispatcher) tryRegister(ctx context.Context, r schemas.Registration) (broker.Item[broker.AgentRecord], error) {
	item, err := d.conn.Agents().Get(ctx, r.AgentID)
	known := err == nil
	if err != nil && !errors.Is(err, broker.ErrNotFound) {
		return item, err
	}
	record := broker.AgentRecord{Registration: r, State: schemas.AgentOnline, RegisteredAt: schemas.At(d.now())}
	if !known {
		if err := d.room(); err != nil {
			return item, err
		}
		revision, err := d.conn.Agents().Create(ctx, r.AgentID, record, 0)
		return broker.Item[broker.AgentRecord]{Key: r.AgentID, Value: record, Revision: revision}, err
	}
	if r.InstanceID == "" && item.Value.Registration.Adopt { // the agent speaks for itself: whoever drives it goes on
		r.InstanceID, r.LargeBodies = item.Value.Registration.InstanceID, item.Value.Registration.LargeBodies
		record.Registration = r
	}
	if err := d.mayReplace(ctx, item, r); err != nil {
		return item, err
	}
	record.Unknown = item.Value.Unknown
	if item.Value.State == schemas.AgentDraining {
		record.State = schemas.AgentDraining
	}
	revision, err := d.conn.Agents().Update(ctx, r.AgentID, record, item.Revision)
	return broker.Item[broker.AgentRecord]{Key: r.AgentID, Value: record, Revision: revision}, err
}

func (d *Dispatcher) room() error {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	if len(d.view.roster.agents) < d.cfg.MaxAgents {
		return nil
	}
	return schemas.NewError(schemas.ResourceExhausted, "TOO_MANY_AGENTS", "%d agents are registered, and no more are accepted", d.cfg.MaxAgents)
}

// registerPing is how long a process has, twice, to say that it lives when another would register in its place: together less than what
// a caller is likely to wait for its registration.
const registerPing = time.Second

// mayReplace refuses a second process while the first answers, or is about to, and other schemas under the same version.
func (d *Dispatcher) mayReplace(ctx context.Context, old broker.Item[broker.AgentRecord], r schemas.Registration) error {
	before := &old.Value.Registration
	if before.Version == r.Version && !sameSchemas(before.Capabilities, r.Capabilities) {
		return schemas.NewError(schemas.FailedPrecondition, "SCHEMAS_CHANGED",
			"version %s of this agent was registered with other schemas: bump the version", r.Version).With("field", "/version")
	}
	if before.InstanceID == r.InstanceID {
		return nil
	}
	for range 2 { // right after a kill the first question may go unanswered
		reply, err := d.askInstance(ctx, r.AgentID, schemas.PingRegister, registerPing)
		switch {
		case err == nil && reply.InstanceID != r.InstanceID:
			return taken(0)
		case err == nil:
			return nil
		case errors.Is(err, broker.ErrNoResponders):
			if wait := d.untilFirstClaim(old); wait > 0 {
				return taken(wait)
			}
			return nil
		}
	}
	return nil
}

// taken refuses a second process; where the first may be gone after a while, it says when.
func taken(wait time.Duration) error {
	e := schemas.NewError(schemas.AlreadyExists, "AGENT_ID_TAKEN",
		"another process serves this agent_id: stop it first, or choose another agent_id").With("field", "/agent_id")
	e.RetryAfterMS, e.Retryable = wait.Milliseconds(), wait > 0
	return e
}

// untilFirstClaim is how long an agent that claims its tasks has for its first word, before which nobody answers for it; 0 where it has
// had its time, or has said something and is gone. One that lives says something within the interval that it was told.
func (d *Dispatcher) untilFirstClaim(item broker.Item[broker.AgentRecord]) time.Duration {
	if item.Value.Registration.Transport.Type != schemas.TransportClaim {
		return 0
	}
	d.enrol(item) // the watch may be behind
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a := d.view.roster.agents[item.Key]
	if a == nil || a.spoken || a.posted.IsZero() {
		return 0
	}
	return max(0, min(d.cfg.HeartbeatInterval+d.cfg.DisconnectGrace, d.cfg.HeartbeatTTL)-d.clock().Sub(a.posted))
}

// sameSchemas compares the contracts of two declarations, capability by capability, those that only one has left out.
func sameSchemas(a, b []schemas.Offer) bool {
	for _, offer := range a {
		i := slices.IndexFunc(b, func(other schemas.Offer) bool { return other.ID == offer.ID })
		if i >= 0 && !(sameJSON(offer.InputSchema, b[i].InputSchema) && sameJSON(offer.OutputSchema, b[i].OutputSchema) &&
			sameJSON(offer.ChunkSchema, b[i].ChunkSchema)) {
			return false
		}
	}
	return true
}

func sameJSON(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	canonicalA, errA := schemas.Canonical(a)
	canonicalB, errB := schemas.Canonical(b)
	return errA == nil && errB == nil && bytes.Equal(canonicalA, canonicalB)
}

// registered answers a registration that is stored, and lets the agent have traffic at once on this dispatcher.
func (d *Dispatcher) registered(item broker.Item[broker.AgentRecord]) *schemas.Registered {
	d.enrol(item)
	d.signOfLife(item.Key, item.Value.Registration.InstanceID)
	return &schemas.Registered{
		AgentID: item.Key, State: item.Value.State, Revision: item.Revision,
		HeartbeatIntervalMS: d.cfg.HeartbeatInterval.Milliseconds(), ReceiptIntervalMS: d.cfg.ReceiptInterval.Milliseconds(),
		Alignments: item.Value.Registration.Alignments(), ChunkSchemas: d.chunkSchemas(&item.Value.Registration),
	}
}

// ListAgents is a page of registered agents, by id. A page token is the last id of the page before.
func (d *Dispatcher) ListAgents(_ context.Context, query schemas.AgentQuery) (*schemas.AgentPage, error) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	j := d.judgement()
	var ids []string
	for id, a := range d.view.roster.agents {
		if id > query.PageToken && a.matches(&query, j) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	page := &schemas.AgentPage{Items: []schemas.Agent{}}
	for i, id := range ids {
		if i == cmp.Or(query.PageSize, schemas.DefaultPageSize) {
			page.NextPageToken = ids[i-1]
			break
		}
		page.Items = append(page.Items, d.view.roster.agents[id].view(j, d.view.tasks.Load(id).Total()))
	}
	return page, nil
}

// matches reports whether the agent is one of those that are asked for.
func (a *agent) matches(q *schemas.AgentQuery, j judgement) bool {
	r := &a.record.Registration
	return (q.State == "" || a.state(j) == q.State) && (q.Capability == "" || r.Offer(q.Capability) != nil) && (!q.Adopt || r.Adopt)
}

// Agent is one registered agent.
func (d *Dispatcher) Agent(_ context.Context, agentID string) (*schemas.Agent, error) {
	if err := schemas.CheckAgentID(agentID); err != nil {
		return nil, err
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a := d.view.roster.agents[agentID]
	if a == nil {
		return nil, unknownAgent()
	}
	view := a.view(d.judgement(), d.view.tasks.Load(agentID).Total())
	return &view, nil
}

// Drain lets an agent finish what it has and gives it nothing new, until Resume.
func (d *Dispatcher) Drain(ctx context.Context, agentID string) (*schemas.Agent, error) {
	return d.setState(ctx, agentID, schemas.AgentDraining, schemas.DoDrain)
}

// Resume ends a drain.
func (d *Dispatcher) Resume(ctx context.Context, agentID string) (*schemas.Agent, error) {
	return d.setState(ctx, agentID, schemas.AgentOnline, schemas.DoResume)
}

// setState changes an agent's record, and tells its worker.
func (d *Dispatcher) setState(ctx context.Context, agentID string, state schemas.AgentState, do string) (*schemas.Agent, error) {
	if err := schemas.CheckAgentID(agentID); err != nil {
		return nil, err
	}
	_, err := d.changeAgent(ctx, agentID, func(r *broker.AgentRecord) bool {
		r.State, r.Trouble = state, ""
		return true
	})
	if err != nil {
		return nil, err
	}
	d.tell(ctx, agentID, do)
	return d.Agent(ctx, agentID)
}

// changeAgent changes an agent's record, whoever else does at the same time. change returns false where there is nothing to do.
func (d *Dispatcher) changeAgent(ctx context.Context, agentID string, change func(*broker.AgentRecord) bool) (broker.AgentRecord, error) {
	for range registerTries {
		item, err := d.conn.Agents().Get(ctx, agentID)
		if errors.Is(err, broker.ErrNotFound) {
			return broker.AgentRecord{}, unknownAgent()
		}
		if err != nil {
			return broker.AgentRecord{}, refusal(err)
		}
		if !change(&item.Value) {
			return item.Value, nil
		}
		item.Revision, err = d.conn.Agents().Update(ctx, agentID, item.Value, item.Revision)
		if errors.Is(err, broker.ErrConflict) {
			continue
		}
		if err != nil {
			return broker.AgentRecord{}, refusal(err)
		}
		d.enrol(item)
		return item.Value, nil
	}
	return broker.AgentRecord{}, schemas.NewError(schemas.Unavailable, "", "the agent's record is changing too fast; try again")
}

// tell sends a control to a worker. One that is away hears it when it registers again.
func (d *Dispatcher) tell(ctx context.Context, agentID, do string) {
	ctx, cancel := context.WithTimeout(ctx, pingFor)
	defer cancel()
	_, err := d.conn.Request(ctx, broker.SubjectControl(agentID), schemas.MustEncode(schemas.Control{Do: do}))
	if err != nil {
		d.log.Debug().Err(err).Str("agent_id", agentID).Str("do", do).Msg("the worker did not answer")
	}
}
