package dispatcher

import (
	"context"
	"slices"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// serveHeartbeat answers a heartbeat as a pull without free slots: what the agent should hold and does not, and the other way round.
func (d *Dispatcher) serveHeartbeat(ctx context.Context, r *broker.Request) {
	beat, err := acceptHeartbeat(r.Data)
	if err != nil {
		r.Fail(schemas.AsError(err))
		return
	}
	if err := d.authentic(ctx, r.Agent, beat.InstanceID); err != nil {
		r.Fail(schemas.AsError(err))
		return
	}
	if !r.Asks() { // what it would be sent again would be lost, and count as sent
		return
	}
	if beat.State == schemas.AgentOffline || !d.caughtUp(ctx, 0) {
		r.ReplyEnd(schemas.MustEncode(schemas.PullEnd{Applied: d.applied()}))
		return
	}
	missing, notYours := d.compareHeld(r.Agent, beat.Held)
	answer := &pullAnswer{request: r}
	d.sendAgain(ctx, answer, missing)
	answer.end(schemas.PullEnd{NotYours: notYours, Applied: d.applied()})
}

// acceptHeartbeat reads a heartbeat. One that names more than an agent can have registered is refused.
func acceptHeartbeat(data []byte) (beat schemas.Heartbeat, err error) {
	if err := schemas.Accept(data, &beat); err != nil {
		return beat, err
	}
	if len(beat.Capabilities) > schemas.MaxOffers {
		return beat, schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "capabilities takes at most %d entries", schemas.MaxOffers).
			With("field", "/capabilities")
	}
	return beat, nil
}

// believed is of a heartbeat what is looked at until the next: every agent has one, so it has to be small, whatever was said. It may name
// what the agent has registered and this dispatcher has not heard of yet.
func believed(beat schemas.Heartbeat) schemas.Heartbeat {
	kept := schemas.Heartbeat{InstanceID: beat.InstanceID, State: beat.State, LoadAvg: beat.LoadAvg, Trouble: schemas.Clip(beat.Trouble, schemas.MaxTroubleBytes)}
	if beat.Capabilities == nil {
		return kept
	}
	kept.Capabilities = []string{}
	for _, id := range beat.Capabilities {
		if schemas.CheckCapability(id) == nil && !slices.Contains(kept.Capabilities, id) {
			kept.Capabilities = append(kept.Capabilities, id)
		}
	}
	return kept
}

// hearHeartbeat notes what every heartbeat says, whoever answers it.
func (d *Dispatcher) hearHeartbeat(_ context.Context, r *broker.Request) {
	beat, err := acceptHeartbeat(r.Data)
	if err != nil {
		return
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a := d.view.roster.agents[r.Agent]
	if a == nil || a.instance() != beat.InstanceID {
		return
	}
	a.beat, a.spoken = believed(beat), true
	a.sign(d.clock())
	a.goodbye = beat.State == schemas.AgentOffline
	if a.goodbye {
		d.wakeRescue()
	}
}

// hearReceipt notes which tasks an agent holds: they have arrived, and it works on them.
func (d *Dispatcher) hearReceipt(_ context.Context, r *broker.Request) {
	var receipt schemas.Receipt
	if schemas.Accept(r.Data, &receipt) != nil {
		return
	}
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	a := d.view.roster.agents[r.Agent]
	if a == nil || a.instance() != receipt.InstanceID {
		return
	}
	a.spoken = true
	a.sign(d.clock())
	for _, held := range receipt.Tasks {
		if t := d.view.tasks.Open(held.TaskID); t != nil && t.AgentID == r.Agent && t.InFlight() {
			d.noteReceipt(t, held, receipt.InstanceID)
		}
	}
}

func (d *Dispatcher) noteReceipt(t *index.Task, held schemas.ReceiptTask, instanceID string) {
	if held.Sequence != t.Sequence && held.Sequence != t.Previous {
		return
	}
	c := d.view.contactOf(t)
	c.instance, c.confirmed, c.running = instanceID, true, c.running || held.Running
	if held.Progress != nil {
		c.progress = held.Progress.Bounded()
		d.view.bells.ring(t.ID)
	}
	if len(held.Hops) > 0 {
		c.hops = appendHops(nil, held.Hops...)
	}
}

// signOfLife notes that an agent's present instance has spoken.
func (d *Dispatcher) signOfLife(agentID, instanceID string) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	if a := d.view.roster.agents[agentID]; a != nil && (instanceID == "" || a.instance() == instanceID) {
		a.sign(d.clock())
	}
}
