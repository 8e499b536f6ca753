package worker

import (
	"cmp"
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/redact"
)

// beater sends the heartbeats of one agent: every interval, and at once, though not more often than every gap, when its bell says
// that something has changed which dispatchers cannot know by themselves.
type beater struct {
	cfg      *Config
	agent    *Agent
	inbox    *inbox
	intake   *intake
	interval time.Duration
	log      zerolog.Logger

	unheard bool // the last heartbeat was not answered
}

// run returns when ctx has ended, or with the error of a dispatcher who does not know this process as the agent's.
func (b *beater) run(ctx context.Context) error {
	wait := backoff{first: min(b.cfg.HeartbeatGap, b.interval), most: b.interval}
	for {
		next := b.interval
		err := b.beat(ctx)
		switch {
		case unknown(err):
			return err
		case err != nil:
			next = wait.next()
		default:
			wait.reset()
			b.inbox.pull.ring()
		}
		b.tell(ctx, err)
		gap := min(b.cfg.HeartbeatGap, next)
		if !sleep(ctx, gap) || !b.inbox.beat.wait(ctx, next-gap+1) {
			return nil
		}
	}
}

// tell tells the log once when heartbeats are answered no more, and when they are again.
func (b *beater) tell(ctx context.Context, err error) {
	if ctx.Err() != nil || b.unheard == (err != nil) {
		return
	}
	b.unheard = err != nil
	if b.unheard {
		b.log.Warn().Err(err).Msg("no dispatcher answers the heartbeats")
		return
	}
	b.log.Info().Msg("a dispatcher answers the heartbeats again")
}

// unknown reports whether a dispatcher refused to take this process for the agent's.
func unknown(err error) bool {
	switch codeOf(err) {
	case schemas.NotFound, schemas.AlreadyExists, schemas.FailedPrecondition:
		return true
	}
	return false
}

func (b *beater) beat(ctx context.Context) error {
	beat := b.say()
	beat.Trouble = b.trouble(ctx)
	for i := range b.agent.Registration.Capabilities {
		if id := b.agent.Registration.Capabilities[i].ID; beat.Trouble == "" && b.agent.Voice.serves(id) {
			beat.Capabilities = append(beat.Capabilities, id)
		}
	}
	b.inbox.heartbeat(&beat)
	return b.send(ctx, beat)
}

// goodbye is the last heartbeat.
func (b *beater) goodbye(ctx context.Context) {
	beat := b.say()
	beat.State = schemas.AgentOffline
	if err := b.send(ctx, beat); err != nil {
		b.log.Debug().Err(err).Msg("goodbye not answered")
	}
}

func (b *beater) say() schemas.Heartbeat {
	return schemas.Heartbeat{
		AgentID: b.agent.Registration.AgentID, InstanceID: b.agent.Registration.InstanceID, Version: b.agent.Registration.Version,
		LoadAvg: b.agent.Voice.load(loadAverage), Time: schemas.At(b.cfg.Now()),
	}
}

func (b *beater) send(ctx context.Context, beat schemas.Heartbeat) error {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.RequestTimeout)
	defer cancel()
	subject := broker.SubjectHeartbeat(beat.AgentID)
	end, err := b.cfg.Conn.RequestEntries(ctx, subject, schemas.MustEncode(beat), func(e broker.Entry) { b.intake.take(e) })
	if err != nil {
		return err
	}
	return b.intake.end(end)
}

// trouble asks the agent whether it is well, and says why it is not. It tells the log once when the answer changes.
func (b *beater) trouble(ctx context.Context) string {
	err := b.health(ctx)
	news := ctx.Err() == nil && b.inbox.setHealth(err == nil)
	switch {
	case news && err != nil:
		b.log.Warn().Err(err).Msg("the agent is not well: it leaves routing")
	case news:
		b.log.Info().Msg("the agent is well again")
		b.inbox.pull.ring()
	}
	if err == nil {
		return ""
	}
	return cmp.Or(redact.Excerpt([]byte(err.Error()), schemas.MaxTroubleBytes), "the agent is not well")
}

func (b *beater) health(ctx context.Context) error {
	if err := b.agent.Voice.ill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.cfg.HealthTimeout)
	defer cancel()
	return b.agent.health(ctx)
}
