package httpfront

import (
	"context"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

type explanationAnswer struct{ Body *schemas.Explanation }

func (s *server) routeRoutes() {
	add(s, s.operation("explainRoute"), s.explainRoute)
}

// explainRoute says where a message would go; nothing is submitted.
func (s *server) explainRoute(ctx context.Context, in *JSON) (*explanationAnswer, error) {
	message, err := front.Message(in.RawBody)
	if err != nil {
		return nil, err
	}
	explanation, err := s.Service.Explain(ctx, s.tenant(ctx), message)
	if err != nil {
		return nil, err
	}
	return &explanationAnswer{explanation}, nil
}
