package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// pullRest follows a pull that brought nothing: an agent that ends thousands of tasks a second need not ask after each.
const pullRest = 5 * time.Millisecond

// puller asks for work: at start, after trouble with the connection, and when its bell says that a slot is free for which nothing
// is at hand. One pull is outstanding at a time; after one that brought nothing it waits for the next bell.
type puller struct {
	conn     *broker.Conn
	inbox    *inbox
	intake   *intake
	courier  *courier
	timeout  time.Duration
	anyway   atomic.Bool // pull, whether or not there is a free slot: what was heard may have holes
	instance string
	log      zerolog.Logger
}

// repair makes the next pull happen at once and in any case. The broker may be another one by now, with a ledger that counts
// anew.
func (p *puller) repair() {
	p.courier.known.Store(0)
	p.anyway.Store(true)
	p.inbox.pull.ring()
}

func (p *puller) run(ctx context.Context) {
	for p.inbox.pull.wait(ctx, 0) {
		for p.anyway.Swap(false) || p.inbox.hungry() {
			if !p.fill(ctx) {
				sleep(ctx, pullRest)
				break
			}
		}
	}
}

// fill pulls until an answer has come to its end, and reports whether it brought anything.
func (p *puller) fill(ctx context.Context) bool {
	wait := backoff{first: 50 * time.Millisecond, most: 5 * time.Second}
	for {
		taken, err := p.once(ctx)
		if err == nil {
			return taken > 0
		}
		p.log.Debug().Err(err).Msg("pull without an end")
		if final(err) {
			return false
		}
		if !sleep(ctx, wait.next()) {
			return false
		}
	}
}

func (p *puller) once(ctx context.Context) (taken int, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	agent := p.intake.registration.AgentID
	pull := schemas.Pull{AgentID: agent, InstanceID: p.instance, Held: p.inbox.sequences(), After: p.courier.known.Load()}
	pull.Free, pull.FreeTotal = p.inbox.free()
	end, err := p.conn.RequestEntries(ctx, broker.SubjectPull(agent), schemas.MustEncode(pull), func(e broker.Entry) {
		if p.intake.take(e) {
			taken++
		}
	})
	if err != nil {
		return taken, err
	}
	return taken, p.intake.end(end)
}
