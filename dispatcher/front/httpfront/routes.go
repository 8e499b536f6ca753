package httpfront

import (
	"context"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

type explanationAnswer struct{ Body *schemas.Explanation }

type routePageAnswer struct{ Body *schemas.RoutePage }

func (s *server) routeRoutes() {
	add(s, s.operation("listRoutes"), s.listRoutes)
	add(s, s.operation("explainRoute"), s.explainRoute)
}

func (s *server) listRoutes(ctx context.Context, _ *struct{}) (*routePageAnswer, error) {
	page, err := s.Service.ListRoutes(ctx)
	if err != nil {
		return nil, err
	}
	return &routePageAnswer{page}, nil
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
