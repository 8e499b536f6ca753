package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// A feed message can be lost. An assignment of which nothing is heard is sent again, after these waits; the last one repeats.
var resendWaits = []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second}

const (
	resendTick = 250 * time.Millisecond
	// How many tasks of an agent are sent again at once. What got lost is a few; where everything is late, sending all of it again
	// would make it later still.
	resendAtOnce = 32

	pingFor    = 2 * time.Second // how long a worker may take to answer a ping
	takeOverAt = 3               // times ResendAfter, after which any dispatcher sends again, not its owner alone

	// A busy agent that is quiet for so long is asked whether it is there, and those that are quiet for longest first, so many at a
	// time: a worker that was killed is found out within a second, and very many that are only slow cost little.
	pingQuietAt = 400 * time.Millisecond
	pingAtOnce  = 64
)

// resendLoop sends assignments again that nobody has named, and so finds out which workers are gone.
func (d *Dispatcher) resendLoop(ctx context.Context) error {
	return d.every(ctx, resendTick, func() {
		for agentID, tasks := range d.unconfirmed() {
			d.inBackground(func(ctx context.Context) { d.resend(ctx, agentID, tasks) })
		}
	})
}

// every runs a step at each tick while the index is current, until ctx ends.
func (d *Dispatcher) every(ctx context.Context, interval time.Duration, step func()) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if d.isCurrent() {
				step()
			}
		}
	}
}

// unconfirmed are the tasks to send again now, by agent.
func (d *Dispatcher) unconfirmed() map[string][]*index.Task {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	now := d.clock()
	out := make(map[string][]*index.Task)
	for agentID, load := range d.view.tasks.Busy() {
		var due []*index.Task
		for t := range load.Tasks() {
			if t.AgentID == agentID && t.Phase == schemas.PhaseAssigned && !d.view.confirmed(t) && d.resendDue(t, now) {
				due = append(due, t)
			}
		}
		for _, t := range oldest(due, resendAtOnce) {
			d.view.resent(t, now)
			out[agentID] = append(out[agentID], t)
		}
	}
	return out
}

// oldest are the first n of some tasks.
func oldest(tasks []*index.Task, n int) []*index.Task {
	if len(tasks) <= n {
		return tasks
	}
	slices.SortFunc(tasks, func(a, b *index.Task) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return tasks[:n]
}

// resendDue reports whether a task is to be sent again now; the caller holds the lock.
func (d *Dispatcher) resendDue(t *index.Task, now time.Time) bool {
	wait := d.cfg.ResendAfter
	if !d.owns(t.ID) {
		wait *= takeOverAt
	}
	return now.Sub(t.At) >= wait && !now.Before(d.view.contactOf(t).resendAt)
}

// resent notes that a task is sent again.
func (v *view) resent(t *index.Task, now time.Time) {
	c := v.contactOf(t)
	c.resendAt = now.Add(resendWaits[min(c.resent, len(resendWaits)-1)])
	c.resent++
}

// resend sends tasks to their agent's worker again. Where nobody answers for the agent, they never began and go to another, once
// those who were cut off together with this dispatcher have had the time to come back.
func (d *Dispatcher) resend(ctx context.Context, agentID string, tasks []*index.Task) {
	if d.ping(ctx, agentID) == absent {
		if d.settling() {
			return
		}
		for _, t := range tasks {
			d.rescue(ctx, t, "no worker answers")
		}
		return
	}
	for _, t := range tasks {
		entry, err := d.ledger.At(ctx, t.Sequence)
		if err != nil {
			continue // moved meanwhile, or the broker is away: looked at again at its next time
		}
		if err := d.conn.PublishEntry(broker.SubjectControl(agentID), entry); err != nil {
			return
		}
	}
}

// settling reports whether workers may still be on their way back: this dispatcher has just started, or was cut off itself.
func (d *Dispatcher) settling() bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.judgement().settling()
}

// presence of a worker, as a ping finds it.
type found int

const (
	present found = iota
	silent        // somebody listens and does not answer
	absent        // nobody listens
)

// ping asks whether a worker is there, and notes what it finds.
func (d *Dispatcher) ping(ctx context.Context, agentID string) found {
	reply, err := d.askInstance(ctx, agentID, "", pingFor)
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a := d.view.roster.agents[agentID]
	switch {
	case err == nil && a != nil && a.instance() == reply.InstanceID:
		a.sign(d.clock())
		return present
	case errors.Is(err, broker.ErrNoResponders):
		if a != nil && a.gone.IsZero() {
			a.gone = d.clock()
		}
		return absent
	}
	return silent
}

// askInstance asks who answers for an agent within some time, and says why.
func (d *Dispatcher) askInstance(ctx context.Context, agentID, reason string, within time.Duration) (schemas.ControlReply, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var reply schemas.ControlReply
	body, err := d.conn.Request(ctx, broker.SubjectControl(agentID), schemas.MustEncode(schemas.Control{Do: schemas.DoPing, Reason: reason}))
	if err != nil {
		return reply, err
	}
	return reply, schemas.Accept(body, &reply)
}
