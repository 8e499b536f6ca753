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
	journal      *journal
	registration *schemas.Registration
	resultLimit  int
	life         context.Context
	now          func() time.Time
	log          zerolog.Logger
}

// take reports whether the entry was an assignment that the worker did not have.
func (i *intake) take(e broker.Entry) bool {
	if i.inbox.has(e.TaskID, e.Sequence) {
		return false
	}
	now := i.now()
	a := readAssignment(e, i.registration, now)
	if a == nil {
		i.log.Debug().Str("task_id", e.TaskID).Uint64("sequence", e.Sequence).Msg("no assignment of this agent")
		return false
	}
	a.life = i.life
	a.ctx, a.cancel = context.WithCancelCause(i.life)
	a.account = newAccount(i.registration.AgentID, i.resultLimit, i.now, i.inbox.report.ring)
	a.account.Hop(schemas.HopReceived)
	a.answer = i.recall(a)
	if !i.inbox.hold(a) {
		a.cancel(errEnded)
		return false
	}
	return true
}

// recall is the answer to an attempt that was made before: its result or, of one with side effects that had begun, that nobody knows
// how it has ended. It is nil for all others.
func (i *intake) recall(a *assignment) *schemas.Result {
	result, known := i.journal.recall(a.attempt(i.registration.AgentID))
	if result == nil && known && !a.message.Assignment.Idempotent {
		return cutShort()
	}
	return result
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
