package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/redact"
)

// probe tries the agent itself, through its adapter, with an input that has no side effects. It takes a slot like any task; while
// all are taken the agent shows by its work that it lives. Without an input only the health check is asked.
type probe struct {
	agent   *Agent
	inbox   *inbox
	timeout time.Duration
	now     func() time.Time
	failing atomic.Bool // the last one failed
}

// tell tells the log once when probes begin to fail, and when they succeed again.
func (p *probe) tell(log zerolog.Logger, capability string, failed *schemas.Error) {
	switch was := p.failing.Swap(failed != nil); {
	case failed != nil && !was:
		log.Warn().Err(failed).Str("capability", capability).Msg("a probe of the agent has failed: after several it gets no tasks")
	case failed == nil && was:
		log.Info().Str("capability", capability).Msg("the agent passes probes again")
	}
}

// try reports what the agent made of a probe; nil is a success.
func (p *probe) try(ctx context.Context, word schemas.Control) *schemas.Error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, ErrRunLimit)
	defer cancel()
	if word.Payload == nil {
		return p.health(ctx)
	}
	offer := p.agent.Registration.Offer(word.Capability)
	if offer == nil {
		return schemas.NewError(schemas.NotFound, schemas.ReasonUnknownCapability, "the agent does not offer this capability")
	}
	if !p.inbox.occupy(word.Capability) {
		return nil
	}
	defer p.inbox.vacate(word.Capability)
	_, err := p.call(ctx, offer, word.Payload)
	if err != nil {
		return schemas.AsError(err)
	}
	return nil
}

func (p *probe) health(ctx context.Context) *schemas.Error {
	if err := p.agent.health(ctx); err != nil {
		return schemas.NewError(schemas.Unavailable, "UNHEALTHY", "the agent's health check fails: %s", redact.Excerpt([]byte(err.Error()), 0))
	}
	return nil
}

// call is the handler's answer; a panic is an error.
func (p *probe) call(ctx context.Context, offer *schemas.Offer, payload schemas.Payload) (_ schemas.Payload, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("probe %s: the handler panicked", offer.ID)
		}
	}()
	deadline := p.now().Add(p.timeout)
	message := &schemas.ReachMessage{
		TaskID: schemas.NewTaskID(), Tenant: schemas.DefaultTenant, Capability: offer.ID, Payload: payload, Attempt: 1,
		SubmittedAt: schemas.At(p.now()), ExpiresAt: schemas.At(deadline),
		Assignment: &schemas.Assignment{AgentID: p.agent.Registration.AgentID, Idempotent: true, RunTimeoutMS: p.timeout.Milliseconds()},
	}
	return p.agent.Handler.Handle(ctx, &Task{Message: message, Offer: offer, Deadline: deadline}, silence{})
}

// silence is an Emit that nobody hears.
type silence struct{}

func (silence) Chunk(context.Context, schemas.Payload) error { return nil }
func (silence) Progress(schemas.Progress)                    {}
func (silence) Hop(string)                                   {}

// occupy takes a slot for something that is no assignment; vacate gives it back.
func (b *inbox) occupy(capability string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slots.take(capability)
}

func (b *inbox) vacate(capability string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slots.give(capability)
	b.start.ring()
	b.pull.ring()
}
