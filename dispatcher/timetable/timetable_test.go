package timetable_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/timetable"
	"github.com/agentreach/agent-reach/schemas"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// daily is a schedule at a revision, due at a time.
func daily(revision uint64, at time.Time) broker.Item[broker.ScheduleRecord] {
	record := broker.ScheduleRecord{Tenant: schemas.DefaultTenant, Schedule: schemas.Schedule{Name: "daily", NextAt: schemas.At(at)}}
	return broker.Item[broker.ScheduleRecord]{Key: "daily", Revision: revision, Value: record}
}

func deleted(revision uint64) broker.Item[broker.ScheduleRecord] {
	return broker.Item[broker.ScheduleRecord]{Key: "daily", Revision: revision, Deleted: true}
}

func TestWhatIsKnown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(t *timetable.Table)
		want []uint64 // revisions
	}{
		{"what the watch brings", func(t *timetable.Table) { t.Hear(daily(5, noon)) }, []uint64{5}},
		{"what was just written, before the watch brings it", func(t *timetable.Table) { t.Learn(daily(5, noon)) }, []uint64{5}},
		{"the later one, whichever comes last", func(t *timetable.Table) { t.Hear(daily(6, noon)); t.Learn(daily(5, noon)) }, []uint64{6}},
		{"nothing that was deleted", func(t *timetable.Table) { t.Hear(daily(5, noon)); t.Hear(deleted(6)) }, nil},
		{"nor if whoever has written it comes after that", func(t *timetable.Table) { t.Hear(daily(5, noon)); t.Hear(deleted(6)); t.Learn(daily(5, noon)) }, nil},
		{"what was made anew", func(t *timetable.Table) { t.Hear(daily(5, noon)); t.Hear(deleted(6)); t.Learn(daily(7, noon)) }, []uint64{7}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := timetable.New()
			tt.do(table)
			var got []uint64
			for _, s := range table.After(schemas.DefaultTenant, "") {
				got = append(got, s.Revision)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || table.Len() != len(tt.want) {
				t.Errorf("%d are known (-want +got):\n%s", table.Len(), diff)
			}
		})
	}
}

func TestADueScheduleIsGrabbedOnce(t *testing.T) {
	t.Parallel()
	mine, others := func(string) bool { return true }, func(string) bool { return false }
	grabbed := func(table *timetable.Table, now time.Time, owned func(string) bool) bool {
		return len(table.GrabDue(now, time.Second, owned)) == 1
	}
	table := timetable.New()
	table.Hear(daily(5, noon))
	if grabbed(table, noon.Add(-time.Millisecond), mine) || grabbed(table, noon.Add(time.Second), others) {
		t.Error("it is grabbed before its time, or while another looks after it")
	}
	if !grabbed(table, noon, mine) || grabbed(table, noon, mine) {
		t.Error("it is not grabbed once")
	}
	table.Release("daily")
	if !table.Again("daily", noon, time.Second, time.Minute) || grabbed(table, noon.Add(time.Second/2), mine) {
		t.Error("it is tried again without a pause")
	}
	if !grabbed(table, noon.Add(2*time.Second), others) {
		t.Error("nobody else looks after it")
	}
	table.Release("daily")
	if table.Again("daily", noon.Add(time.Minute), time.Second, time.Minute) {
		t.Error("it is tried again for ever")
	}
	table.Hear(daily(6, noon.Add(time.Hour)))
	if !table.Again("daily", noon.Add(time.Hour), time.Second, time.Minute) {
		t.Error("the next occurrence is not tried again")
	}
}
