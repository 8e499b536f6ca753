package client

import (
	"context"

	"github.com/agentreach/agent-reach/schemas"
)

// AddSchedule stores a task that recurs; without Replace it only creates, and the same once more changes nothing.
func (c *Client) AddSchedule(ctx context.Context, add *schemas.AddSchedule) (*schemas.Schedule, error) {
	return ask[schemas.Schedule](ctx, c, question{noun: "schedule", verb: "add", body: add})
}

// ListSchedules is a page of the schedules, by name, without their payloads.
func (c *Client) ListSchedules(ctx context.Context, query schemas.ScheduleQuery) (*schemas.SchedulePage, error) {
	return ask[schemas.SchedulePage](ctx, c, question{noun: "schedule", verb: "list", body: query})
}

// Schedule is one schedule.
func (c *Client) Schedule(ctx context.Context, name string) (*schemas.Schedule, error) {
	return ask[schemas.Schedule](ctx, c, onSchedule("get", name))
}

// PauseSchedule lets nothing happen until ResumeSchedule, which goes on with the next time that comes.
func (c *Client) PauseSchedule(ctx context.Context, name string) (*schemas.Schedule, error) {
	return ask[schemas.Schedule](ctx, c, onSchedule("pause", name))
}

// ResumeSchedule ends a pause.
func (c *Client) ResumeSchedule(ctx context.Context, name string) (*schemas.Schedule, error) {
	return ask[schemas.Schedule](ctx, c, onSchedule("resume", name))
}

// DeleteSchedule takes a schedule out, and gives it as it was. Its tasks go on.
func (c *Client) DeleteSchedule(ctx context.Context, name string) (*schemas.Schedule, error) {
	return ask[schemas.Schedule](ctx, c, onSchedule("delete", name))
}

func onSchedule(verb, name string) question {
	return question{noun: "schedule", verb: verb, body: &schemas.ScheduleRef{Name: name}}
}
