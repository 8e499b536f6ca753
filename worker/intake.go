package worker

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// intake puts into the inbox what arrives for an agent, by whichever way: the feed, the control subject, the answer to a pull or
// a heartbeat. It may be called by several goroutines at once.
type intake struct {
	inbox        *inbox
	registration *schemas.Registration
	resultLimit  int
	life         context.Context
	now          func() time.Time
	log          zerolog.Logger
}

// take reports whether the entry was an assignment that the worker did not have.
func (i *intake) take(e broker.Entry) bool {
	now := i.now()
	a := readAssignment(e, i.registration, now)
	if a == nil {
		i.log.Debug().Str("task_id", e.TaskID).Uint64("sequence", e.Sequence).Msg("no assignment of this agent")
		return false
	}
	a.life = i.life
	a.ctx, a.cancel = context.WithCancelCause(i.life)
	a.account = newAccount(i.registration.AgentID, i.resultLimit, i.now)
	a.account.Hop(schemas.HopReceived)
	if !i.inbox.hold(a) {
		a.cancel(errEnded)
		return false
	}
	return true
}

// end takes the end of an answer to a pull or a heartbeat.
func (i *intake) end(body []byte) error {
	var end schemas.PullEnd
	if err := schemas.Decode(body, &end); err != nil {
		return err
	}
	i.inbox.notYours(end.NotYours, end.Applied)
	return nil
}
