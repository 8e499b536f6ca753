package worker

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// reporter sends the receipts of one agent: at most one message per after, and no more looks at what is held than two.
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
		gap := min(again, r.after)
		if len(list) > 0 {
			r.send(list)
			gap = r.after
		}
		if gap > 0 && !sleep(ctx, gap) {
			return
		}
		if (again == 0 || again > gap) && !r.inbox.report.wait(ctx, max(0, again-gap)) {
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
