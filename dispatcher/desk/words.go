package desk

import (
	"cmp"
	"context"
	"errors"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// Heartbeat says that an agent lives, and what it can serve now: everything, where it names no capabilities.
func (d *Desk) Heartbeat(ctx context.Context, beat *schemas.Heartbeat) (*schemas.Heard, error) {
	if beat.InstanceID == "" {
		return d.ownBeat(ctx, beat)
	}
	p, err := d.place(ctx, beat.AgentID, beat.InstanceID)
	if err != nil {
		return nil, err
	}
	p.reconcile(beat.Held)
	p.takeIn(ctx, beat.Held)
	said := *beat
	said.State = cmp.Or(said.State, schemas.AgentOnline)
	said.Version = cmp.Or(said.Version, p.registration.Version)
	said.Held = p.held(beat.Held)
	said.InFlight = max(said.InFlight, len(said.Held))
	if said.InFlightTasks == nil {
		for _, task := range p.running(said.Held) {
			said.InFlightTasks = append(said.InFlightTasks, task.TaskID)
		}
	}
	said.Time = schemas.At(d.cfg.Now())
	if said.Capabilities == nil {
		for i := range p.registration.Capabilities {
			said.Capabilities = append(said.Capabilities, p.registration.Capabilities[i].ID)
		}
	}
	if _, err := p.ask(ctx, d.cfg.RequestTimeout, broker.SubjectHeartbeat(p.agentID), said); err != nil {
		return nil, err
	}
	if said.State == schemas.AgentOffline {
		d.leave(p)
	}
	return p.told(0), nil
}

// ownBeat passes on what an agent says of itself to the worker that has adopted it. While there is none, nobody has to know.
func (d *Desk) ownBeat(ctx context.Context, beat *schemas.Heartbeat) (*schemas.Heard, error) {
	registration, err := d.registered(ctx, beat.AgentID)
	switch {
	case err != nil:
		return nil, err
	case !registration.Adopt:
		return nil, schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue,
			"instance_id takes that of the registration").With("field", "/instance_id")
	}
	word := schemas.Control{Do: schemas.DoBeat, Capabilities: beat.Capabilities, LoadAvg: beat.LoadAvg}
	if beat.State == schemas.AgentOffline {
		word.Reason = schemas.BeatGoodbye
	}
	subject := broker.SubjectControl(beat.AgentID)
	_, err = d.conn.RequestWithin(ctx, d.cfg.RequestTimeout, subject, schemas.MustEncode(word))
	if err != nil && !errors.Is(err, broker.ErrNoResponders) {
		return nil, asRefusal(err)
	}
	return &schemas.Heard{}, nil
}

// Receipt says that an agent works on tasks, and how far it is.
func (d *Desk) Receipt(ctx context.Context, receipt *schemas.Receipt) (*schemas.Heard, error) {
	p, err := d.place(ctx, receipt.AgentID, receipt.InstanceID)
	if err != nil {
		return nil, err
	}
	for _, task := range receipt.Tasks {
		_, _ = p.adopted(ctx, task.TaskID, task.Sequence) // its run limit is kept here from now on; what is not the agent's is ignored
	}
	p.receipt(receipt.Tasks)
	return p.told(0), nil
}

// Release gives back a task that the agent has not begun: somebody else may have it.
func (d *Desk) Release(ctx context.Context, release *schemas.Release) (*schemas.Answer, error) {
	p, err := d.place(ctx, release.AgentID, release.InstanceID)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.FinishTimeout)
	defer cancel()
	said := *release
	said.WriteID = cmp.Or(said.WriteID, stepID("release", said.TaskID, said.Sequence))
	answer, err := p.deliver(ctx, broker.SubjectRelease(p.agentID), said)
	return p.settled(said.TaskID, said.Sequence, answer, err)
}

// settled ends a job on which a dispatcher has had the last word.
func (p *place) settled(taskID string, token uint64, answer schemas.Answer, err error) (*schemas.Answer, error) {
	if err != nil {
		return nil, err
	}
	p.drop(taskID, token)
	if answer.Outcome == schemas.OutcomeSuperseded {
		if answer.Error != nil {
			return nil, answer.Error
		}
		return nil, overtaken()
	}
	return &answer, nil
}
