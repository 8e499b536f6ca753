package worker

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// registrar makes an agent known to the dispatchers.
type registrar struct {
	conn         *broker.Conn
	registration *schemas.Registration
	words        *words      // learns how the agent's words differ
	rules        *chunkRules // learns what chunks may be
	timeout      time.Duration
	log          zerolog.Logger
}

// register tries until a dispatcher has taken the registration. Only what no repeat mends is an error, or the cause of ctx.
func (r *registrar) register(ctx context.Context) (schemas.Registered, error) {
	wait := backoff{first: 100 * time.Millisecond, most: 5 * time.Second}
	told := ""
	for {
		registered, err := r.once(ctx)
		if err == nil {
			r.log.Info().Str("state", string(registered.State)).Msg("registered")
			return registered, nil
		}
		if hopeless(err) {
			return schemas.Registered{}, err
		}
		if ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			r.log.Warn().Err(err).Msg(trouble(err))
		}
		if !sleep(ctx, wait.next()) {
			return schemas.Registered{}, context.Cause(ctx)
		}
	}
}

func (r *registrar) once(ctx context.Context) (registered schemas.Registered, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	reply, err := r.conn.Request(ctx, broker.SubjectAPI("agent", "register"), schemas.MustEncode(r.registration))
	if err != nil {
		return registered, err
	}
	if err := schemas.Decode(reply, &registered); err != nil {
		return registered, err
	}
	r.words.learn(registered.Alignments)
	if err := r.rules.learn(registered.ChunkSchemas, r.registration.Capabilities); err != nil {
		r.log.Error().Err(err).Msg("chunks are not checked")
	}
	return registered, nil
}

// hopeless reports whether the registration itself is wrong.
func hopeless(err error) bool {
	code := codeOf(err)
	return code == schemas.InvalidArgument || code == schemas.FailedPrecondition
}

// trouble is what the log says of a registration that is tried again.
func trouble(err error) string {
	switch {
	case errors.Is(err, broker.ErrNoResponders):
		return "no dispatcher is there yet; trying again"
	case codeOf(err) == schemas.AlreadyExists:
		return "another process serves this agent_id; trying again until it has gone"
	}
	return "not registered; trying again"
}
