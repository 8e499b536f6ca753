package worker

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// reporter sends the receipts of one agent: at most one message per after.
type reporter struct {
	conn     *broker.Conn
	inbox    *inbox
	agentID  string
	instance string
	after    time.Duration
	interval time.Duration
	now      func() time.Time
	log      zerolog.Logger
}

func (r *reporter) run(ctx context.Context) {
	for {
		list, again := r.inbox.receipt(r.now(), r.after, r.interval)
		if len(list) > 0 {
			r.send(list)
			again = max(again, r.after)
		}
		if again > 0 && !sleep(ctx, again) || again == 0 && !r.inbox.report.wait(ctx, 0) {
			return
		}
	}
}

func (r *reporter) send(list []schemas.ReceiptTask) {
	receipt := schemas.Receipt{AgentID: r.agentID, InstanceID: r.instance, Time: schemas.At(r.now()), Tasks: list}
	if err := r.conn.Publish(broker.SubjectReceipt(r.agentID), schemas.MustEncode(receipt)); err != nil {
		r.log.Debug().Err(err).Msg("receipt not sent")
	}
}
