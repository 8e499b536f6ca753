package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/schedule"
	"github.com/agentreach/agent-reach/schemas"
)

func TestDue(t *testing.T) {
	t.Parallel()
	const hourly = "0 * * * *"
	day := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	at := func(hour, minute int) time.Time {
		return day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	}
	tests := []struct {
		name      string
		cron      string
		missed    schemas.MissedRuns
		next, now time.Time
		want      schedule.Run
	}{
		{"nothing is due", hourly, "", at(10, 0), at(9, 59), schedule.Run{Next: at(10, 0)}},
		{"on time", hourly, "", at(10, 0), at(10, 0), schedule.Run{At: []time.Time{at(10, 0)}, Next: at(11, 0)}},
		{"a little late is on time", hourly, schemas.MissedSkip, at(10, 0), at(10, 1), schedule.Run{At: []time.Time{at(10, 0)}, Next: at(11, 0)}},
		{"missed ones are skipped", hourly, schemas.MissedSkip, at(7, 0), at(9, 30), schedule.Run{Missed: at(9, 0), Next: at(10, 0)}},
		{
			"missed ones are skipped, the one on time is not", hourly, "", at(7, 0), at(9, 0),
			schedule.Run{At: []time.Time{at(9, 0)}, Missed: at(8, 0), Next: at(10, 0)},
		},
		{
			"of the missed ones the last is run", hourly, schemas.MissedOnce, at(7, 0), at(9, 30),
			schedule.Run{At: []time.Time{at(9, 0)}, Missed: at(8, 0), Next: at(10, 0)},
		},
		{
			"each missed one is run", hourly, schemas.MissedAll, at(7, 0), at(9, 30),
			schedule.Run{At: []time.Time{at(7, 0), at(8, 0), at(9, 0)}, Next: at(10, 0)},
		},
		{
			"a span goes on from where it was", "@every 7m", schemas.MissedOnce, at(7, 0), at(7, 20),
			schedule.Run{At: []time.Time{at(7, 14)}, Missed: at(7, 7), Next: at(7, 21)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mustParse(t, tt.cron, "").Due(tt.next, tt.now, tt.missed, time.Minute)
			if len(got.At) == 0 {
				got.At = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A house that was down for years starts soon, and does not run everything at once.
func TestDueIsBounded(t *testing.T) {
	t.Parallel()
	next := time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, cron := range []string{"* * * * *", "@every 1s", "0 0 * * *", "0 0 1 1 *"} {
		run := mustParse(t, cron, "").Due(next, now, schemas.MissedAll, time.Minute)
		if len(run.At) == 0 || len(run.At) > schedule.MaxCatchUp || !run.At[len(run.At)-1].Equal(now) || !run.Next.After(now) {
			t.Errorf("%s: %d are run, the last %v, then %s", cron, len(run.At), run.At[max(0, len(run.At)-1):], run.Next)
		}
	}
	if run := mustParse(t, "0 0 1 1 *", "").Due(next, now, schemas.MissedAll, time.Minute); len(run.At) != 11 {
		t.Errorf("of a yearly schedule %d are run", len(run.At))
	}
}
