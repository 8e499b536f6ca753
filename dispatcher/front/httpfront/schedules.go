package httpfront

import (
	"context"
	"net/http"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// SchedulePath names a schedule in a path.
type SchedulePath struct {
	Name string `path:"name" example:"nightly-notes" doc:"The name of the schedule." pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"`
}

type scheduleAnswer struct {
	Status   int
	Location string `header:"Location" doc:"The URL of the schedule."`
	Body     *schemas.Schedule
}

func (s *server) scheduleRoutes() {
	add(s, s.operation("addSchedule"), s.addSchedule)
	add(s, s.operation("listSchedules"), s.listSchedules)
	add(s, s.operation("getSchedule"), s.onSchedule(s.Service.Schedule))
	add(s, s.operation("pauseSchedule"), s.onSchedule(s.Service.PauseSchedule))
	add(s, s.operation("resumeSchedule"), s.onSchedule(s.Service.ResumeSchedule))
	add(s, s.operation("deleteSchedule"), s.onSchedule(s.Service.DeleteSchedule))
}

// addSchedule answers 201 for a schedule that it may only create, 200 for one that it may also replace.
func (s *server) addSchedule(ctx context.Context, in *JSON) (*scheduleAnswer, error) {
	add, err := front.AddSchedule(in.RawBody)
	if err != nil {
		return nil, err
	}
	schedule, err := s.Service.AddSchedule(ctx, s.tenant(ctx), add)
	if err != nil {
		return nil, err
	}
	out := &scheduleAnswer{Status: http.StatusCreated, Location: "/v1/schedules/" + schedule.Name, Body: schedule}
	if add.Replace {
		out.Status = http.StatusOK
	}
	return out, nil
}

// pageWanted is which part of a list is wanted.
type pageWanted struct {
	PageSize  int    `query:"page_size" doc:"Schedules per page; 50 if absent." minimum:"1" maximum:"100"`
	PageToken string `query:"page_token" doc:"The next_page_token of the page before." maxLength:"512"`
}

func (s *server) listSchedules(ctx context.Context, in *pageWanted) (*bodied[schemas.SchedulePage], error) {
	query := schemas.ScheduleQuery{PageSize: in.PageSize, PageToken: in.PageToken}
	if err := front.CheckScheduleQuery(&query); err != nil {
		return nil, err
	}
	return answered(s.Service.ListSchedules(ctx, s.tenant(ctx), query))
}

// scheduleHandler is an operation that takes the name of a schedule and answers with the schedule.
type scheduleHandler = func(context.Context, *SchedulePath) (*bodied[schemas.Schedule], error)

func (s *server) onSchedule(do func(ctx context.Context, tenant, name string) (*schemas.Schedule, error)) scheduleHandler {
	return func(ctx context.Context, in *SchedulePath) (*bodied[schemas.Schedule], error) {
		if err := schemas.CheckSchedule(in.Name); err != nil {
			return nil, err
		}
		return answered(do(ctx, s.tenant(ctx), in.Name))
	}
}
