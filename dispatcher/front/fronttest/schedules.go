package fronttest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// AddSchedule stores a schedule; nothing of it ever happens.
func (h *House) AddSchedule(_ context.Context, tenant string, add *schemas.AddSchedule) (*schemas.Schedule, error) {
	if err := h.enter("AddSchedule"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	key := tenant + " " + add.Schedule.Name
	if h.schedules[key] != nil && !add.Replace {
		return nil, schemas.NewError(schemas.AlreadyExists, "SCHEDULE_EXISTS", "there is a schedule of that name")
	}
	h.revision++
	s := add.Schedule
	s.State, s.NextAt, s.Revision = schemas.ScheduleActive, schemas.At(Now.Add(time.Hour)), h.revision
	h.schedules[key] = &s
	answer := s
	return &answer, nil
}

// Schedule is one schedule.
func (h *House) Schedule(_ context.Context, tenant, name string) (*schemas.Schedule, error) {
	return h.withSchedule("Schedule", tenant, name, func(*schemas.Schedule) {})
}

// PauseSchedule makes a schedule paused.
func (h *House) PauseSchedule(_ context.Context, tenant, name string) (*schemas.Schedule, error) {
	return h.withSchedule("PauseSchedule", tenant, name, func(s *schemas.Schedule) {
		s.State, s.NextAt = schemas.SchedulePaused, schemas.Time{}
	})
}

// ResumeSchedule makes it active again.
func (h *House) ResumeSchedule(_ context.Context, tenant, name string) (*schemas.Schedule, error) {
	return h.withSchedule("ResumeSchedule", tenant, name, func(s *schemas.Schedule) {
		s.State, s.NextAt = schemas.ScheduleActive, schemas.At(Now.Add(time.Hour))
	})
}

// DeleteSchedule takes it out.
func (h *House) DeleteSchedule(_ context.Context, tenant, name string) (*schemas.Schedule, error) {
	return h.withSchedule("DeleteSchedule", tenant, name, func(*schemas.Schedule) { delete(h.schedules, tenant+" "+name) })
}

func (h *House) withSchedule(call, tenant, name string, change func(*schemas.Schedule)) (*schemas.Schedule, error) {
	if err := h.enter(call); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	s := h.schedules[tenant+" "+name]
	if s == nil {
		return nil, schemas.NewError(schemas.NotFound, "UNKNOWN_SCHEDULE", "there is no such schedule")
	}
	change(s)
	answer := *s
	return &answer, nil
}

// ListSchedules is one page, by name.
func (h *House) ListSchedules(_ context.Context, tenant string, query schemas.ScheduleQuery) (*schemas.SchedulePage, error) {
	if err := h.enter("ListSchedules"); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	page := &schemas.SchedulePage{Items: []schemas.Schedule{}}
	for key, s := range h.schedules {
		if key == tenant+" "+s.Name && s.Name > query.PageToken {
			page.Items = append(page.Items, *s)
		}
	}
	slices.SortFunc(page.Items, func(a, b schemas.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	if size := cmp.Or(query.PageSize, schemas.DefaultPageSize); len(page.Items) > size {
		page.Items = page.Items[:size]
		page.NextPageToken = page.Items[size-1].Name
	}
	return page, nil
}
