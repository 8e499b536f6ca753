package natsfront

import (
	"context"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *api) addSchedule(ctx context.Context, request []byte) (any, error) {
	add, err := front.AddSchedule(request)
	if err != nil {
		return nil, err
	}
	return a.service.AddSchedule(ctx, a.tenant(), add)
}

func (a *api) listSchedules(ctx context.Context, request []byte) (any, error) {
	query, err := front.ScheduleQuery(request)
	if err != nil {
		return nil, err
	}
	return a.service.ListSchedules(ctx, a.tenant(), *query)
}

// onSchedule is an endpoint that takes the name of a schedule.
func (a *api) onSchedule(do func(ctx context.Context, tenant, name string) (*schemas.Schedule, error)) answerer {
	return func(ctx context.Context, request []byte) (any, error) {
		ref, err := front.ScheduleRef(request)
		if err != nil {
			return nil, err
		}
		return do(ctx, a.tenant(), ref.Name)
	}
}
