package httpfront

import (
	"context"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

func (s *server) routeRoutes() {
	add(s, s.operation("listRoutes"), s.listRoutes)
	add(s, s.operation("explainRoute"), s.explainRoute)
}

func (s *server) listRoutes(ctx context.Context, _ *struct{}) (*bodied[schemas.RoutePage], error) {
	return answered(s.Service.ListRoutes(ctx))
}

// explainRoute says where a message would go; nothing is submitted.
func (s *server) explainRoute(ctx context.Context, in *JSON) (*bodied[schemas.Explanation], error) {
	message, err := front.Message(in.RawBody)
	if err != nil {
		return nil, err
	}
	return answered(s.Service.Explain(ctx, s.tenant(ctx), message))
}
