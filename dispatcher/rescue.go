package dispatcher

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/failover"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

const rescueTick = 250 * time.Millisecond

// rescueLoop looks after the tasks of agents that have gone.
func (d *Dispatcher) rescueLoop(ctx context.Context) error {
	tick := time.NewTicker(rescueTick)
	defer tick.Stop()
	for {
		waits := d.clock()
		select {
		case <-ctx.Done():
			return nil
		case <-d.rescueNow:
		case <-tick.C:
		}
		now := d.clock()
		if now.Sub(waits) > d.cfg.HeartbeatTTL/2 {
			d.onTrouble(broker.Trouble{}) // this process was frozen: what it has not heard meanwhile is nobody's silence
		}
		if !d.isCurrent() {
			continue
		}
		for _, t := range d.orphans(now) {
			d.inBackground(func(ctx context.Context) { d.rescue(ctx, t, "its agent has gone") })
		}
		for _, agentID := range d.quiet() {
			d.inBackground(func(ctx context.Context) { d.ping(ctx, agentID) })
		}
	}
}

// wakeRescue makes the rescue loop look now.
func (d *Dispatcher) wakeRescue() {
	select {
	case d.rescueNow <- struct{}{}:
	default:
	}
}

// orphans are the tasks in flight on agents that are dead.
func (d *Dispatcher) orphans(now time.Time) []*index.Task {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	j := d.judgement()
	j.now = now
	var tasks []*index.Task
	for agentID, load := range d.view.tasks.Busy() {
		a := d.view.roster.agents[agentID]
		if a != nil && !a.dead(j) || a == nil && j.now.Before(j.from) {
			continue
		}
		for t := range load.Tasks() {
			if t.AgentID == agentID && !(a != nil && d.staysWith(a, t)) { // else another has it as well
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// staysWith reports whether a task waits for an agent that has gone: one that comes and goes keeps what it alone may run, what it
// may have begun and must not run twice, and what nobody else could run now. All else of it moves. The caller holds the lock.
func (d *Dispatcher) staysWith(a *agent, t *index.Task) bool {
	if !a.record.Registration.Intermittent {
		return false
	}
	pinned := t.Terms.WaitForAgent && t.Terms.PreferAgent == a.id()
	begun := t.Phase == schemas.PhaseBegun && !t.Idempotent()
	return pinned || begun || d.makePlan(d.wishOf(t.Order())).online == 0
}

// quiet are the busy agents of this dispatcher's part that have not been heard for a while: they are asked.
func (d *Dispatcher) quiet() []string {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	now := d.clock()
	var agents []*agent
	for agentID := range d.view.tasks.Busy() {
		a := d.view.roster.agents[agentID]
		if a != nil && a.toAsk(now) && score.Owner(d.view.peers, agentID) == d.cfg.ID {
			agents = append(agents, a)
		}
	}
	slices.SortFunc(agents, func(a, b *agent) int { return a.heard.Compare(b.heard) })
	var ids []string
	for _, a := range agents[:min(len(agents), pingAtOnce)] {
		a.asked = now
		ids = append(ids, a.id())
	}
	return ids
}

// toAsk reports whether the agent has been quiet for so long that it is to be asked now. One that has not answered yet is given time.
func (a *agent) toAsk(now time.Time) bool {
	answered := !a.asked.After(a.heard)
	return now.Sub(a.heard) >= pingQuietAt && (answered || now.Sub(a.asked) >= pingFor)
}

// rescuePredecessor looks after what an agent's earlier process had begun: a new one is there in its place.
func (d *Dispatcher) rescuePredecessor(agentID, instanceID string) {
	d.view.mu.Lock()
	var left []*index.Task
	for t := range d.view.tasks.Load(agentID).Tasks() {
		if t.AgentID == agentID && d.startedBy(t) != "" && d.startedBy(t) != instanceID {
			left = append(left, t)
		}
	}
	d.view.mu.Unlock()
	for _, t := range left {
		if !d.aside(func(ctx context.Context) { d.rescue(ctx, t, "its worker was restarted") }) {
			return // it is looked at again with the next pull
		}
	}
}

// startedBy is the process that has started a task, as far as it is known; the caller holds the lock.
func (d *Dispatcher) startedBy(t *index.Task) string {
	if t.Phase == schemas.PhaseBegun {
		return t.Terms.Assignment.InstanceID
	}
	if c := d.view.contacts[t.ID]; c != nil && c.sequence == t.Sequence && c.running {
		return c.instance
	}
	return ""
}

// rescue decides what becomes of a task whose agent was lost, and writes it. Any dispatcher may: the ledger lets it happen once.
func (d *Dispatcher) rescue(ctx context.Context, t *index.Task, why string) {
	d.view.mu.Lock()
	current := d.view.tasks.Open(t.ID) == t && d.view.grab(t.ID)
	l := failover.Loss{
		Phase: t.Phase, Idempotent: t.Idempotent(), Confirmed: d.view.reached(t), Lost: t.Terms.Assignment.Lost,
		Attempt: t.Terms.Attempt, Attempts: attemptsFor(t),
	}
	d.view.mu.Unlock()
	if !current {
		return
	}
	defer d.view.release(t.ID)
	err := d.afterLoss(ctx, t, l)
	var conflict *broker.Conflict
	if err != nil && !errors.As(err, &conflict) {
		d.log.Warn().Err(err).Str("task_id", t.ID).Str("agent_id", t.AgentID).Msg("a rescue failed; it is tried again")
		return
	}
	d.log.Info().Str("task_id", t.ID).Str("agent_id", t.AgentID).Str("why", why).Bool("first", err == nil).Msg("task rescued")
}

func (d *Dispatcher) afterLoss(ctx context.Context, t *index.Task, l failover.Loss) error {
	var err error
	switch l.Verdict() {
	case failover.Aborts:
		err = d.fail(ctx, t, failover.MayHaveExecuted(t.AgentID, l.Attempt, nil))
	case failover.Ends:
		err = d.fail(ctx, t, schemas.NewError(schemas.Unavailable, schemas.ReasonTooManyAttempts,
			"%d agents were lost while they had this task", max(l.Attempt, l.Lost+1)).With("agent_id", t.AgentID))
	default:
		_, err = d.moveOn(ctx, t, moving{
			attempt: l.NextAttempt(), lost: l.Lost + 1, streamed: streamed{uncounted: true},
			hop: routed{Rule: "rescue", From: t.AgentID},
		})
	}
	return err
}
