package dispatcher

import (
	"context"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// publishResult publishes a terminal record on its result subject. It is a hint: whoever may have missed it looks.
func (d *Dispatcher) publishResult(r *schemas.Record) {
	body, err := schemas.Encode(r.Task)
	if err == nil {
		err = d.conn.Publish(broker.SubjectResult(r.Tenant, r.TaskID), body)
	}
	if err != nil {
		d.log.Debug().Err(err).Str("task_id", r.TaskID).Msg("a result was not published")
	}
}

// publishAgain publishes a result that a peer may not have published before it went.
func (d *Dispatcher) publishAgain(ctx context.Context, e endedAt) {
	entry, err := d.ledger.At(ctx, e.sequence)
	if err != nil {
		return
	}
	if event, err := decodeEvent(entry); err == nil && event.Record != nil {
		d.publishResult(event.Record)
	}
}
