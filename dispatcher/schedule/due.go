package schedule

import (
	"time"

	"github.com/robfig/cron/v3"

	"github.com/agentreach/agent-reach/schemas"
)

// MaxCatchUp is how many missed times are run at once at most, the latest of them.
const MaxCatchUp = 100

// maxLook is how many times that have passed are looked at one by one; of more, the older ones are passed over.
const maxLook = 2 * 24 * 60

// Run is what to do about a schedule whose time has come.
type Run struct {
	At     []time.Time // these are run, in this order
	Missed time.Time   // the last that is not run; zero if there is none
	Next   time.Time   // the next that has not come; zero if none will
}

// Due says what to do about a schedule whose next time was next, at now. A time counts as missed once it is more than grace ago.
func (t *Times) Due(next, now time.Time, missed schemas.MissedRuns, grace time.Duration) Run {
	var due []time.Time
	at := t.leap(next, now)
	for ; !at.IsZero() && !at.After(now); at = t.Next(at) {
		due = append(due, at)
	}
	run := Run{Next: at}
	run.At = due[t.firstOf(due, now, missed, grace):]
	if left := len(due) - len(run.At); left > 0 {
		run.Missed = due[left-1]
	}
	return run
}

// firstOf is the place of the first time that is run of those that are due.
func (t *Times) firstOf(due []time.Time, now time.Time, missed schemas.MissedRuns, grace time.Duration) int {
	switch missed {
	case schemas.MissedOnce:
		return max(0, len(due)-1)
	case schemas.MissedAll:
		return max(0, len(due)-MaxCatchUp)
	}
	first := 0
	for first < len(due) && now.Sub(due[first]) > grace {
		first++
	}
	return max(first, len(due)-MaxCatchUp)
}

// leap passes over what is too long ago to be looked at time by time.
func (t *Times) leap(next, now time.Time) time.Time {
	if every, fixed := t.cron.(cron.ConstantDelaySchedule); fixed {
		passed := now.Sub(next) / every.Delay
		return next.Add(max(0, passed-maxLook) * every.Delay)
	}
	at := next
	for range maxLook {
		if at.IsZero() || at.After(now) {
			return next
		}
		at = t.Next(at)
	}
	if recent := t.Next(now.Add(-maxLook * time.Minute)); !recent.After(now) {
		return recent
	}
	return at
}
