package worker

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// control answers what dispatchers say to one agent: a word, or an assignment sent again. Several may be answered at once.
type control struct {
	inbox    *inbox
	voice    *Voice
	intake   *intake
	probe    *probe
	instance string
	wait     time.Duration
	log      zerolog.Logger
}

func (c *control) handle(ctx context.Context, r *broker.Request) {
	if e, ok := r.Entry(); ok {
		c.intake.take(e)
		c.reply(r, schemas.ControlReply{OK: true})
		return
	}
	var word schemas.Control
	if err := schemas.Accept(r.Data, &word); err != nil {
		c.log.Debug().Err(err).Msg("control is not readable")
		r.Fail(schemas.AsError(err))
		return
	}
	switch word.Do {
	case schemas.DoCancel:
		c.reply(r, schemas.ControlReply{OK: true, Confirmed: c.cancel(ctx, word)})
	case schemas.DoDrain:
		c.inbox.drain(false)
		c.reply(r, schemas.ControlReply{OK: true})
	case schemas.DoResume:
		c.inbox.resume()
		c.reply(r, schemas.ControlReply{OK: true})
	case schemas.DoPing:
		c.reply(r, schemas.ControlReply{OK: true})
	case schemas.DoProbe:
		failed := c.probe.try(ctx, word)
		c.probe.tell(c.log, word.Capability, failed)
		c.reply(r, schemas.ControlReply{OK: failed == nil, Error: failed})
	case schemas.DoBeat:
		c.beat(r, word)
	default:
		c.refuse(r)
	}
}

func (c *control) refuse(r *broker.Request) {
	r.Fail(schemas.NewError(schemas.Unimplemented, "", "do takes cancel, drain, resume, ping or probe").With("field", "/do"))
}

// beat takes what the agent says of itself.
func (c *control) beat(r *broker.Request, word schemas.Control) {
	if c.voice == nil {
		c.refuse(r)
		return
	}
	if c.voice.hear(word) {
		c.inbox.beat.ring()
	}
	c.reply(r, schemas.ControlReply{OK: true})
}

func (c *control) reply(r *broker.Request, reply schemas.ControlReply) {
	reply.InstanceID = c.instance
	r.Reply(schemas.MustEncode(reply))
}

// cancel stops a task and reports whether it is certain that nothing of it runs: it had not begun, or its agent confirmed in
// time.
func (c *control) cancel(ctx context.Context, word schemas.Control) bool {
	live, idle := c.inbox.stop(word.TaskID, word.Sequence)
	if len(live) == 0 {
		return idle
	}
	ctx, end := context.WithTimeout(ctx, c.wait)
	defer end()
	for _, a := range live {
		select {
		case <-a.left:
		case <-ctx.Done():
			return false
		}
		if !c.inbox.stopped(a) {
			return false
		}
	}
	return true
}
