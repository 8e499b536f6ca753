package httpfront

import (
	"context"
	"errors"

	"github.com/agentreach/agent-reach/schemas"
)

const healthPath = "/healthz"

// Health is what /healthz and /readyz say when all is well.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

type healthAnswer struct{ Body Health }

func (s *server) healthRoutes() {
	add(s, s.operation("health"), s.health)
	add(s, s.operation("ready"), s.ready)
}

// health says that the process answers, and nothing more.
func (s *server) health(context.Context, *struct{}) (*healthAnswer, error) {
	return &healthAnswer{Health{Status: "ok", Version: s.Version}}, nil
}

// ready says whether a task could be accepted now.
func (s *server) ready(ctx context.Context, in *struct{}) (*healthAnswer, error) {
	if s.Ready == nil {
		return s.health(ctx, in)
	}
	asking, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.Ready(asking); err != nil {
		s.Logger.Debug().Err(err).Msg("not ready")
		return nil, notReady(err)
	}
	return s.health(ctx, in)
}

// notReady quotes an error only if it was made for callers.
func notReady(err error) *schemas.Error {
	message := "not ready yet"
	if known := new(schemas.Error); errors.As(err, &known) {
		message = known.Message
	}
	e := schemas.NewError(schemas.Unavailable, reasonNotReady, "%s", message)
	e.RetryAfterMS = 1000
	return e
}
