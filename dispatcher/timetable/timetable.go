// Package timetable keeps the schedules that a dispatcher knows, and which of them it is about to submit. They come from the watch of their
// bucket, and from the dispatcher's own reads and writes, which may be quicker than that or come behind it.
//
// A Table has a lock of its own and does no I/O. When a schedule is due is not decided here: its record says so.
package timetable

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// Table is the schedules of all tenants. Its methods may be called from any goroutine.
type Table struct {
	mu    sync.Mutex
	byKey map[string]*recurring
	heard uint64 // the highest revision that the watch has brought
}

// recurring is one schedule, and what its dispatcher is about to do with it.
type recurring struct {
	record   broker.ScheduleRecord
	revision uint64
	firing   bool
	failed   time.Time // when its next occurrence was first refused for a reason that may pass
	retryAt  time.Time
}

// New is an empty table.
func New() *Table { return &Table{byKey: make(map[string]*recurring)} }

// Hear takes a change that the watch brings.
func (t *Table) Hear(item broker.Item[broker.ScheduleRecord]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.take(item)
	t.heard = max(t.heard, item.Revision)
}

// Learn takes what was just written or read. It may come behind the watch: what that has brought and is not here is deleted since.
func (t *Table) Learn(item broker.Item[broker.ScheduleRecord]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[item.Key] != nil || item.Revision > t.heard {
		t.take(item)
	}
}

func (t *Table) take(item broker.Item[broker.ScheduleRecord]) {
	known := t.byKey[item.Key]
	switch {
	case item.Deleted:
		delete(t.byKey, item.Key)
	case known == nil:
		t.byKey[item.Key] = &recurring{record: item.Value, revision: item.Revision}
	case item.Revision > known.revision:
		moved := !known.record.NextAt.Equal(item.Value.NextAt.Time)
		known.record, known.revision = item.Value, item.Revision
		if moved {
			known.failed, known.retryAt = time.Time{}, time.Time{}
		}
	}
}

// Len is how many schedules there are.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byKey)
}

// GrabDue are the schedules whose time has come: those that owned says are this dispatcher's, and others' that nobody has looked after for
// longer than patience. Each has to be given back by Release.
func (t *Table) GrabDue(now time.Time, patience time.Duration, owned func(key string) bool) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var keys []string
	for key, r := range t.byKey {
		next := r.record.NextAt.Time
		if r.firing || next.IsZero() || next.After(now) || r.retryAt.After(now) {
			continue
		}
		if owned(key) || now.Sub(next) > patience {
			r.firing = true
			keys = append(keys, key)
		}
	}
	return keys
}

// Release gives a schedule back.
func (t *Table) Release(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.byKey[key]; r != nil {
		r.firing = false
	}
}

// Again is for a schedule whose occurrence was refused for a reason that may pass: it is not due again before a pause is over. It reports
// false once that has lasted for atMost.
func (t *Table) Again(key string, now time.Time, pause, atMost time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byKey[key]
	if r == nil {
		return true
	}
	if r.failed.IsZero() {
		r.failed = now
	}
	r.retryAt = now.Add(pause)
	return now.Sub(r.failed) < atMost
}

// After are a tenant's schedules whose names come after one, in order, without their payloads.
func (t *Table) After(tenant, name string) []schemas.Schedule {
	t.mu.Lock()
	defer t.mu.Unlock()
	items := []schemas.Schedule{}
	for _, r := range t.byKey {
		if r.record.Tenant != tenant || r.record.Name <= name {
			continue
		}
		item := View(r.record, r.revision)
		item.Message.Payload = nil
		items = append(items, *item)
	}
	slices.SortFunc(items, func(a, b schemas.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return items
}

// View is a schedule as its readers see it.
func View(record broker.ScheduleRecord, revision uint64) *schemas.Schedule {
	s := record.Schedule
	s.Revision = revision
	switch {
	case s.NextAt.IsZero():
		s.State = schemas.SchedulePaused
	case s.LastError != nil:
		s.State = schemas.ScheduleFailing
	default:
		s.State = schemas.ScheduleActive
	}
	return &s
}
