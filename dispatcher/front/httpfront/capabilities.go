package httpfront

import (
	"context"
	"net/http"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// CapabilityPath names a capability in a path.
type CapabilityPath struct {
	ID string `path:"id" example:"summarize" doc:"The id of the capability." pattern:"^[a-z][a-z0-9_]{0,63}$"`
}

type capabilityAnswer struct {
	Status   int
	Location string `header:"Location" doc:"The URL of the entry."`
	Body     *schemas.Capability
}

func (s *server) capabilityRoutes() {
	add(s, s.operation("listCapabilities"), s.listCapabilities)
	add(s, s.operation("addCapability"), s.addCapability)
	add(s, s.operation("getCapability"), s.getCapability)
}

func (s *server) listCapabilities(ctx context.Context, _ *struct{}) (*bodied[schemas.CapabilityPage], error) {
	return answered(s.Service.ListCapabilities(ctx))
}

// addCapability answers 201 for an entry that it may only create, 200 for one that it may also replace.
func (s *server) addCapability(ctx context.Context, in *JSON) (*capabilityAnswer, error) {
	add, err := front.AddCapability(in.RawBody)
	if err != nil {
		return nil, err
	}
	capability, err := s.Service.AddCapability(ctx, add)
	if err != nil {
		return nil, err
	}
	out := &capabilityAnswer{Status: http.StatusCreated, Location: "/v1/capabilities/" + capability.ID, Body: capability}
	if add.Replace {
		out.Status = http.StatusOK
	}
	return out, nil
}

func (s *server) getCapability(ctx context.Context, in *CapabilityPath) (*bodied[schemas.Capability], error) {
	if err := schemas.CheckCapability(in.ID); err != nil {
		return nil, err
	}
	return answered(s.Service.Capability(ctx, in.ID))
}
