package dispatcher_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/schedule"
	"github.com/agentreach/agent-reach/schemas"
)

// everySecond is a schedule that is due in each second.
func everySecond(name string) schemas.Schedule {
	return schemas.Schedule{Name: name, Cron: "@every 1s", Message: echo(`{"n":1}`)}
}

func (h *house) addSchedule(s schemas.Schedule) *schemas.Schedule {
	h.t.Helper()
	added, err := h.any().AddSchedule(h.t.Context(), schemas.DefaultTenant, &schemas.AddSchedule{Schedule: s})
	check(h.t, err)
	return added
}

func (h *house) schedule(name string) *schemas.Schedule {
	h.t.Helper()
	s, err := h.any().Schedule(h.t.Context(), schemas.DefaultTenant, name)
	check(h.t, err)
	return s
}

// occurrences are the tasks of a schedule, the oldest first.
func (h *house) occurrences(name string) []schemas.Task {
	h.t.Helper()
	var found []schemas.Task
	query := schemas.TaskQuery{PageSize: schemas.MaxPageSize}
	for {
		page, err := h.any().ListTasks(h.t.Context(), schemas.DefaultTenant, query)
		check(h.t, err)
		for _, task := range page.Items {
			if task.Schedule == name {
				found = append(found, task)
			}
		}
		if query.PageToken = page.NextPageToken; query.PageToken == "" {
			slices.Reverse(found)
			return found
		}
	}
}

// occurrencesAt are the occurrences once so many are there: what another dispatcher has submitted is heard of a moment later.
func (h *house) occurrencesAt(least int, name string) (found []schemas.Task) {
	h.t.Helper()
	brokertest.Eventually(h.t, fmt.Sprintf("%d occurrences of %s", least, name), func() bool {
		found = h.occurrences(name)
		return len(found) >= least
	})
	return found
}

// dueTimes are when occurrences were due, as their ids say, and demands that each is there once.
func dueTimes(t testing.TB, tasks []schemas.Task) []time.Time {
	t.Helper()
	var times []time.Time
	for _, task := range tasks {
		times = append(times, time.UnixMilli(schemas.TaskIDTime(task.TaskID)).UTC())
	}
	if unique := slices.Compact(slices.Clone(times)); len(unique) != len(times) {
		t.Errorf("a time has two tasks: %v", times)
	}
	return times
}

// fast looks often, so that dispatchers race for each occurrence.
func fast() dispatcher.Config {
	cfg := quick()
	cfg.Tick = 5 * time.Millisecond
	return cfg
}

// However many dispatchers there are, whoever of them stops or starts, each time has one task, none is left out, and the tasks run.
func TestEachOccurrenceExistsOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fast(), fast(), fast())
	w := newScripted(h, "parrot", offer{"echo", 64})
	w.keepBeating()
	added := h.addSchedule(everySecond("tick"))
	first := added.NextAt.Time
	brokertest.Eventually(t, "some are there", func() bool { return len(h.occurrences("tick")) >= 2 })
	h.dispatchers[0].stop()
	h.dispatchers = h.dispatchers[1:]
	h.start(fast())
	brokertest.Eventually(t, "more are there", func() bool { return len(h.occurrences("tick")) >= 5 })
	_, err := h.any().PauseSchedule(t.Context(), schemas.DefaultTenant, "tick")
	check(t, err)
	got := h.occurrences("tick")
	var want []time.Time
	for i := range got {
		want = append(want, first.Add(time.Duration(i)*time.Second))
	}
	if diff := cmp.Diff(want, dueTimes(t, got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	w.completeAll()
	for _, task := range got {
		if ended := h.wait(task.TaskID); string(ended.Result) != `{"n":1}` || ended.Schedule != "tick" {
			t.Errorf("%+v", ended)
		}
	}
	h.wantLast("tick")
	if s := h.schedule("tick"); s.State != schemas.SchedulePaused {
		t.Errorf("%+v", s)
	}
}

// wantLast demands that a schedule names its last occurrence. Whoever has submitted that says so a moment later.
func (h *house) wantLast(name string) {
	h.t.Helper()
	brokertest.Eventually(h.t, "the last occurrence is named", func() bool {
		all := h.occurrences(name)
		return h.schedule(name).LastTaskID == all[len(all)-1].TaskID
	})
}

// A schedule that is paused while its occurrences are being submitted stays paused, and names the last of them.
func TestASchedulePausedInTheMiddleNamesItsLastOccurrence(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fast())
	added := h.addSchedule(schemas.Schedule{Name: "hourly", Cron: "@every 1h", Missed: schemas.MissedAll, Message: echo("1")})
	const due = schedule.MaxCatchUp
	h.turnBack("hourly", added.NextAt.Add(-due*time.Hour))
	for began := time.Now(); len(h.occurrences("hourly")) == 0 && time.Since(began) < patience; {
		runtime.Gosched() // a pause between two looks would be long enough for all of them
	}
	_, err := h.any().PauseSchedule(t.Context(), schemas.DefaultTenant, "hourly")
	check(t, err)
	brokertest.Eventually(t, "all are there", func() bool { return len(h.occurrences("hourly")) == due })
	h.wantLast("hourly")
	if s := h.schedule("hourly"); s.State != schemas.SchedulePaused {
		t.Errorf("%+v", s)
	}
}

// All fire at once what only one may: the record is turned back again and again, and they find the task there.
func TestAnOccurrenceThatIsFiredAgainIsTheSameTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fast(), fast())
	w := newScripted(h, "parrot", offer{"echo", 64})
	w.keepBeating()
	added := h.addSchedule(schemas.Schedule{Name: "hourly", Cron: "@every 1h", Missed: schemas.MissedAll, Message: echo("1")})
	due := added.NextAt.Add(-210 * time.Minute)
	for round := range 5 {
		h.turnBack("hourly", due)
		brokertest.Eventually(t, fmt.Sprintf("round %d is over", round), func() bool { return h.schedule("hourly").NextAt.Equal(due.Add(3 * time.Hour)) })
	}
	want := []time.Time{due.UTC(), due.Add(time.Hour).UTC(), due.Add(2 * time.Hour).UTC()}
	got := dueTimes(t, h.occurrencesAt(len(want), "hourly"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if s := h.schedule("hourly"); !s.LastAt.Equal(want[2]) {
		t.Errorf("%+v", s)
	}
}

func TestWhatBecomesOfMissedTimes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fast())
	for missed, want := range map[schemas.MissedRuns][]time.Duration{
		schemas.MissedSkip: nil, schemas.MissedOnce: {2 * time.Hour}, schemas.MissedAll: {0, time.Hour, 2 * time.Hour},
	} {
		name := string(missed)
		added := h.addSchedule(schemas.Schedule{Name: name, Cron: "@every 1h", Missed: missed, Message: echo("1")})
		since := added.NextAt.Add(-210 * time.Minute)
		h.turnBack(name, since)
		brokertest.Eventually(t, name, func() bool { return h.schedule(name).NextAt.After(time.Now()) })
		var got []time.Duration
		for _, at := range dueTimes(t, h.occurrencesAt(len(want), name)) {
			got = append(got, at.Sub(since))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if s := h.schedule(name); (missed == schemas.MissedAll) != s.LastMissedAt.IsZero() {
			t.Errorf("%s says of what it has missed: %+v", name, s)
		}
	}
}

// turnBack makes a schedule due at a time.
func (h *house) turnBack(name string, next time.Time) {
	h.t.Helper()
	h.rewrite(name, func(r *broker.ScheduleRecord) { r.NextAt = schemas.At(next) })
}

// rewrite changes a schedule behind the backs of dispatchers, which may be writing it themselves.
func (h *house) rewrite(name string, change func(*broker.ScheduleRecord)) {
	h.t.Helper()
	bucket, key := h.any().conn.Schedules(), broker.ScheduleKey(schemas.DefaultTenant, name)
	brokertest.Eventually(h.t, "the schedule "+name+" is changed", func() bool {
		item, err := bucket.Get(h.t.Context(), key)
		check(h.t, err)
		change(&item.Value)
		_, err = bucket.Update(h.t.Context(), key, item.Value, item.Revision)
		return err == nil
	})
}

func TestSchedulesArePausedResumedReplacedAndDeleted(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fast(), fast())
	ctx, tenant := t.Context(), schemas.DefaultTenant
	d := h.any()
	added := h.addSchedule(schemas.Schedule{Name: "daily", Cron: "0 7 * * *", TimeZone: "Europe/Berlin", Message: echo("1")})
	if added.State != schemas.ScheduleActive || !added.NextAt.After(time.Now()) || added.Revision == 0 || added.CreatedAt.IsZero() {
		t.Errorf("%+v", added)
	}
	_, err := d.AddSchedule(ctx, tenant, &schemas.AddSchedule{Schedule: everySecond("daily")})
	wantCode(t, err, schemas.AlreadyExists, "SCHEDULE_EXISTS")

	same, err := d.AddSchedule(ctx, tenant, &schemas.AddSchedule{
		Schedule: schemas.Schedule{Name: "daily", Cron: "0 7 * * *", TimeZone: "Europe/Berlin", Message: echo("1")},
	})
	if check(t, err); same.Revision != added.Revision {
		t.Errorf("the same once more is another: %+v", same)
	}

	paused, err := d.PauseSchedule(ctx, tenant, "daily")
	if check(t, err); paused.State != schemas.SchedulePaused || !paused.NextAt.IsZero() {
		t.Errorf("%+v", paused)
	}
	replaced, err := d.AddSchedule(ctx, tenant, &schemas.AddSchedule{Schedule: everySecond("daily"), Replace: true})
	if check(t, err); replaced.State != schemas.SchedulePaused || replaced.Cron != "@every 1s" || !replaced.CreatedAt.Equal(added.CreatedAt.Time) {
		t.Errorf("%+v", replaced)
	}
	resumed, err := h.dispatchers[1].ResumeSchedule(ctx, tenant, "daily")
	if check(t, err); resumed.State != schemas.ScheduleActive {
		t.Errorf("%+v", resumed)
	}
	brokertest.Eventually(t, "it goes on", func() bool { return len(h.occurrences("daily")) > 0 })
	if queued := h.occurrences("daily")[0]; queued.Phase != schemas.PhaseQueued { // though no agent is online
		t.Errorf("%+v", queued)
	}
	_, err = d.DeleteSchedule(ctx, tenant, "daily")
	check(t, err)
	_, err = d.Schedule(ctx, tenant, "daily")
	wantCode(t, err, schemas.NotFound, "UNKNOWN_SCHEDULE")
	for _, r := range h.dispatchers {
		brokertest.Eventually(t, "it is gone from the list", func() bool {
			page, err := r.ListSchedules(ctx, tenant, schemas.ScheduleQuery{})
			check(t, err)
			return len(page.Items) == 0
		})
	}
	again := h.addSchedule(everySecond("daily"))
	_, err = d.PauseSchedule(ctx, "other", again.Name)
	wantCode(t, err, schemas.NotFound, "UNKNOWN_SCHEDULE")
}

func TestSchedulesThatCanNeverRunAreRefused(t *testing.T) {
	t.Parallel()
	cfg := fast()
	cfg.MaxSchedules = 2
	h := newHouse(t, cfg)
	tests := []struct {
		name   string
		change func(*schemas.Schedule)
		code   schemas.Code
		field  string
	}{
		{"an unknown capability", func(s *schemas.Schedule) { s.Message.Capability = "telepathy" }, schemas.NotFound, ""},
		{"a payload that does not fit", func(s *schemas.Schedule) {
			s.Message.Capability, s.Message.Payload = "summarize", schemas.Payload("{}")
		}, schemas.InvalidArgument, ""},
		{"no cron", func(s *schemas.Schedule) { s.Cron = "soon" }, schemas.InvalidArgument, "/cron"},
		{"no zone", func(s *schemas.Schedule) { s.TimeZone = "Mars/Olympus" }, schemas.InvalidArgument, "/time_zone"},
		{"no name", func(s *schemas.Schedule) { s.Name = "a.b" }, schemas.InvalidArgument, "/name"},
		{"no policy", func(s *schemas.Schedule) { s.Missed = "some" }, schemas.InvalidArgument, "/missed"},
		{"a key", func(s *schemas.Schedule) { s.Message.MsgID = "k" }, schemas.InvalidArgument, "/message/msg_id"},
		{"an expiry", func(s *schemas.Schedule) { s.Message.ExpiresAt = schemas.At(time.Now().Add(time.Hour)) }, schemas.InvalidArgument, "/message/expires_at"},
		{"a bad tag", func(s *schemas.Schedule) { s.Message.Tags = []string{""} }, schemas.InvalidArgument, "/message/tags/0"},
		{"a large payload", func(s *schemas.Schedule) {
			s.Message.Payload = schemas.MustEncode(make([]int, schemas.MaxSchedulePayloadBytes))
		}, schemas.ResourceExhausted, "/message/payload"},
	}
	for _, tt := range tests {
		s := everySecond("bad")
		tt.change(&s)
		_, err := h.any().AddSchedule(t.Context(), schemas.DefaultTenant, &schemas.AddSchedule{Schedule: s})
		e := schemas.AsError(err)
		var field string
		if e == nil || e.Code != tt.code || tt.field != "" && (!e.Detail("field", &field) || field != tt.field) {
			t.Errorf("%s: %v, %q", tt.name, e, field)
		}
	}
	h.addSchedule(schemas.Schedule{Name: "one", Cron: "@yearly", Message: echo("1")})
	h.addSchedule(schemas.Schedule{Name: "two", Cron: "@yearly", Message: echo("1")})
	_, err := h.any().AddSchedule(t.Context(), schemas.DefaultTenant, &schemas.AddSchedule{Schedule: everySecond("three")})
	wantCode(t, err, schemas.ResourceExhausted, "TOO_MANY_SCHEDULES")
	_, err = h.any().AddSchedule(t.Context(), schemas.DefaultTenant, &schemas.AddSchedule{
		Schedule: schemas.Schedule{Name: "two", Cron: "@daily", Message: echo("1")}, Replace: true,
	})
	check(t, err)
	page, err := h.any().ListSchedules(t.Context(), schemas.DefaultTenant, schemas.ScheduleQuery{PageSize: 1})
	if check(t, err); len(page.Items) != 1 || page.Items[0].Name != "one" || page.NextPageToken != "one" || page.Items[0].Message.Payload != nil {
		t.Errorf("%+v", page)
	}
	page, err = h.any().ListSchedules(t.Context(), schemas.DefaultTenant, schemas.ScheduleQuery{PageSize: 1, PageToken: "one"})
	if check(t, err); len(page.Items) != 1 || page.Items[0].Name != "two" || page.NextPageToken != "" {
		t.Errorf("%+v", page)
	}
}

// A schedule whose occurrence can no longer be submitted says so, goes on, and is well again when it can be.
func TestAScheduleSaysWhyItFails(t *testing.T) {
	t.Parallel()
	cfg := fast()
	cfg.QueuePerCapability, cfg.ScheduleGrace = 1, 500*time.Millisecond
	h := newHouse(t, cfg)
	h.addSchedule(everySecond("tick")) // nobody is there: the second one finds the queue full
	var failing *schemas.Schedule
	brokertest.Eventually(t, "it fails", func() bool { failing = h.schedule("tick"); return failing.State == schemas.ScheduleFailing })
	if failing.LastError.Reason != schemas.ReasonQueueFull || len(h.occurrences("tick")) != 1 {
		t.Errorf("%+v", failing)
	}
	w := newScripted(h, "parrot", offer{"echo", 64})
	w.keepBeating()
	brokertest.Eventually(t, "it is well again", func() bool { return h.schedule("tick").State == schemas.ScheduleActive })

	h.rewrite("tick", func(r *broker.ScheduleRecord) { r.Message.Capability = "telepathy" }) // a word that the dictionary no longer knows
	brokertest.Eventually(t, "it says so", func() bool {
		s := h.schedule("tick")
		return s.State == schemas.ScheduleFailing && s.LastError.Code == schemas.NotFound && s.NextAt.After(time.Now().Add(-2*time.Second))
	})
}

// A dispatcher that starts finds the schedules, and goes on where the one before ended.
func TestSchedulesSurviveARestart(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fast())
	h.addSchedule(everySecond("tick"))
	brokertest.Eventually(t, "one is there", func() bool { return len(h.occurrences("tick")) >= 1 })
	h.dispatchers[0].stop()
	h.dispatchers = nil
	h.start(fast())
	before := len(h.occurrences("tick"))
	brokertest.Eventually(t, "it goes on", func() bool { return len(h.occurrences("tick")) >= before+2 })
	times := dueTimes(t, h.occurrences("tick"))
	for i := range times[1:] {
		if gap := times[i+1].Sub(times[i]); gap != time.Second {
			t.Errorf("a gap of %v: %v", gap, times)
		}
	}
}
