package view

import (
	"cmp"
	"io"

	"github.com/agentreach/agent-reach/schemas"
)

// Schedule is all that a reader wants to know of one schedule.
func Schedule(w io.Writer, s *schemas.Schedule) {
	fields(w,
		field{"SCHEDULE", s.Name},
		field{"STATE", string(s.State)},
		field{"CRON", Text(s.Cron)},
		field{"TIME ZONE", Text(cmp.Or(s.TimeZone, "UTC"))},
		field{"MISSED", string(cmp.Or(s.Missed, schemas.MissedSkip))},
		field{"CAPABILITY", wanted(&s.Message)},
		field{"PAYLOAD", raw([]byte(s.Message.Payload))},
		field{"EXPIRES", expiresAfter(s)},
		field{"NEXT", s.NextAt.String()},
		field{"LAST", s.LastAt.String()},
		field{"LAST TASK", s.LastTaskID},
		field{"LAST MISSED", s.LastMissedAt.String()},
		field{"ERROR", failure(s.LastError)},
	)
}

// wanted is the capability or the intent of a message.
func wanted(m *schemas.ReachMessage) string {
	if m.Capability != "" {
		return m.Capability
	}
	return "intent " + Text(m.Intent)
}

func expiresAfter(s *schemas.Schedule) string {
	if s.ExpiresAfterMS == 0 {
		return ""
	}
	return span(schemas.Duration(s.ExpiresAfterMS)) + " after its time"
}

// Schedules is a list of schedules.
func Schedules(w io.Writer, schedules []schemas.Schedule) {
	var items [][]string
	for i := range schedules {
		s := &schedules[i]
		items = append(items, []string{
			s.Name, string(s.State), Text(s.Cron), Text(cmp.Or(s.TimeZone, "UTC")), wanted(&s.Message), or(s.NextAt.String()), or(s.LastTaskID),
			or(errorName(s.LastError)),
		})
	}
	Rows(w, []string{"SCHEDULE", "STATE", "CRON", "TIME ZONE", "CAPABILITY", "NEXT", "LAST TASK", "ERROR"}, items)
}
