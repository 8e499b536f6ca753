package index_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// room is an index in which tasks of one capability wait.
type room struct {
	*index.Index
	last uint64
}

func newRoom() *room { return &room{Index: index.New()} }

// waits is a task that comes to wait.
type waits struct {
	id       string
	priority int
	tenant   string        // default if empty
	age      time.Duration // at the start
	attempt  int
	starts   time.Duration // not before so long after the start; 0: at once
	pin      string
}

func (r *room) apply(phase schemas.Phase, w waits, agent string) {
	r.last++
	m := &schemas.ReachMessage{
		TaskID: w.id, Tenant: w.tenant, Priority: &w.priority, Attempt: w.attempt, SubmittedAt: schemas.At(start.Add(-w.age)),
		WaitForAgent: w.pin != "", PreferAgent: w.pin,
	}
	if w.starts != 0 {
		m.NotBefore = schemas.At(start.Add(w.starts))
	}
	r.Apply(index.Event{Sequence: r.last, TaskID: w.id, Phase: phase, Capability: "echo", AgentID: agent, Message: m})
}

func (r *room) queue(tasks ...waits) {
	for _, w := range tasks {
		r.apply(schemas.PhaseQueued, w, "")
	}
}

// slot gives the next waiting task to an agent.
func (r *room) slot() string {
	for t := range r.Waiting("echo", "") {
		r.apply(schemas.PhaseAssigned, waits{t.ID, t.Terms.Priority, t.Tenant(), start.Sub(t.SubmittedAt.Time), t.Terms.Attempt + 1, 0, ""}, "a")
		return t.ID
	}
	return ""
}

func (r *room) slots(n int) []string {
	var ids []string
	for range n {
		ids = append(ids, r.slot())
	}
	return ids
}

func (r *room) order() []string {
	var ids []string
	for t := range r.Waiting("echo", "") {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestWhoGetsTheNextSlots(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		tasks []waits
		want  []string
	}{
		{
			"the highest priority, then age",
			[]waits{{id: "low", age: time.Hour}, {id: "high", priority: 9}, {id: "older", priority: 9, age: time.Minute}},
			[]string{"older", "high", "low"},
		},
		{
			"what was submitted at the same moment goes by id, and so by task_id's own time",
			[]waits{{id: "c"}, {id: "a"}, {id: "b"}},
			[]string{"a", "b", "c"},
		},
		{
			"tenants take turns, however many tasks one has",
			[]waits{
				{id: "a1", tenant: "a", age: 9},
				{id: "a2", tenant: "a", age: 8},
				{id: "a3", tenant: "a", age: 7},
				{id: "b1", tenant: "b", age: 2},
				{id: "b2", tenant: "b", age: 1},
				{id: "c1", tenant: "c"},
			},
			[]string{"a1", "b1", "c1", "a2", "b2", "a3"},
		},
		{
			"a retry goes before what came later, of whatever tenant",
			[]waits{{id: "new", tenant: "b"}, {id: "other", tenant: "b"}, {id: "retry", tenant: "a", age: time.Minute, attempt: 1}},
			[]string{"retry", "new", "other"},
		},
		{
			"retries go by age",
			[]waits{{id: "second", age: time.Minute, attempt: 1}, {id: "first", age: time.Hour, attempt: 2}},
			[]string{"first", "second"},
		},
		{
			"a retry goes before nothing of a higher priority",
			[]waits{{id: "retry", priority: 4, attempt: 1, age: time.Hour}, {id: "high", priority: 5}},
			[]string{"high", "retry"},
		},
		{
			"a task that was to start later is as old as its start",
			[]waits{{id: "planned", age: 24 * time.Hour, starts: -time.Second}, {id: "waiting", age: time.Minute}},
			[]string{"waiting", "planned"},
		},
		{
			"but a retry is as old as its task, whenever it was to be tried again",
			[]waits{{id: "second", age: time.Minute, attempt: 1}, {id: "first", age: time.Hour, attempt: 1, starts: -time.Second}},
			[]string{"first", "second"},
		},
		{
			"a priority that nobody can ask for counts as the nearest",
			[]waits{{id: "low", priority: -3}, {id: "high", priority: 99}},
			[]string{"high", "low"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRoom()
			r.queue(tt.tasks...)
			if diff := cmp.Diff(tt.want, r.order()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func many(n int, name string, w waits) []waits {
	tasks := make([]waits, n)
	for i := range tasks {
		tasks[i] = w
		tasks[i].id = fmt.Sprintf("%s-%04d", name, i)
	}
	return tasks
}

// Ten urgent tasks come while five hundred others wait and every slot is taken: each slot that is freed goes to one of the ten.
func TestUrgentTasksGetTheNextSlotsHoweverMuchWaits(t *testing.T) {
	t.Parallel()
	r := newRoom()
	r.queue(many(500, "low", waits{priority: 1, age: time.Hour})...)
	r.slots(100)
	r.queue(many(10, "high", waits{priority: 9})...)
	for n, id := range r.slots(10) {
		if want := fmt.Sprintf("high-%04d", n); id != want {
			t.Errorf("slot %d went to %s, want %s", n, id, want)
		}
	}
}

// More urgent tasks come than there are slots: 11 for every 10. What waits below has its share, each priority of it, and a retry
// its turn.
func TestUnderAFloodOfUrgentTasksTheOthersHaveTheirShare(t *testing.T) {
	t.Parallel()
	r := newRoom()
	r.queue(many(100, "low", waits{priority: 1, age: time.Hour})...)
	r.queue(many(100, "middle", waits{priority: 5, age: time.Minute})...)
	const slots = 1600
	counts, retried, flood := make(map[string]int), 0, 0
	for n := range slots {
		for range 1 + n%10/9 {
			r.queue(waits{id: fmt.Sprintf("high-%05d", flood), priority: 9})
			flood++
		}
		if n == slots/2 {
			r.queue(waits{id: "retry", priority: 3, attempt: 1, age: time.Second})
		}
		id := r.slot()
		counts[id[:3]]++
		if id == "retry" {
			retried = n
		}
	}
	want := map[string]int{"hig": slots / index.LowShare * (index.LowShare - 1), "low": 50, "mid": 49, "ret": 1}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("who got the slots:\n%s", diff)
	}
	if waited := retried - slots/2; waited < 0 || waited >= index.LowShare {
		t.Errorf("the retry waited for %d slots, want fewer than %d", waited, index.LowShare)
	}
}

// A tenant that was not heard of for a while comes behind those whose turn it is, and no further.
func TestATenantsTurnIsKeptFromSlotToSlot(t *testing.T) {
	t.Parallel()
	r := newRoom()
	r.queue(many(5, "a", waits{tenant: "a"})...)
	r.queue(many(5, "b", waits{tenant: "b"})...)
	got := r.slots(1)
	r.queue(many(2, "c", waits{tenant: "c"})...)
	got = append(got, r.slots(5)...)
	want := []string{"a-0000", "b-0000", "a-0001", "c-0000", "b-0001", "a-0002"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A task that found a free slot at once took a turn of its tenant's, and of those that wait below it.
func TestTasksThatNeverWaitedCountAsWell(t *testing.T) {
	t.Parallel()
	r := newRoom()
	r.queue(waits{id: "a1", tenant: "a"}, waits{id: "b1", tenant: "b"})
	r.apply(schemas.PhaseAssigned, waits{id: "a2", tenant: "a", attempt: 1}, "agent")
	if diff := cmp.Diff([]string{"b1", "a1"}, r.order()); diff != "" {
		t.Errorf("after a task of tenant a:\n%s", diff)
	}
	for n := range index.LowShare - 1 {
		if r.Before("echo", 9) {
			t.Fatalf("after %d urgent tasks the next one already has to wait", n)
		}
		r.apply(schemas.PhaseAssigned, waits{id: fmt.Sprint("high-", n), priority: 9, attempt: 1}, "agent")
		r.apply(schemas.PhaseBegun, waits{id: fmt.Sprint("high-", n), priority: 9, attempt: 1}, "agent")
	}
	r.queue(waits{id: "high", priority: 9})
	if got := r.slots(2); got[0] != "b1" || got[1] != "high" {
		t.Errorf("the slots went to %v: after so many urgent tasks one goes to what waits below", got)
	}
}

func TestBeforeSaysWhetherANewTaskHasToWaitItsTurn(t *testing.T) {
	t.Parallel()
	r := newRoom()
	if r.Before("echo", 0) {
		t.Error("nobody waits")
	}
	r.queue(waits{id: "pinned", priority: 9, pin: "a"})
	if r.Before("echo", 0) {
		t.Error("what waits for one agent alone is in nobody's way")
	}
	r.queue(waits{id: "middle", priority: 5})
	for priority, want := range map[int]bool{4: true, 5: true, 6: false} {
		if got := r.Before("echo", priority); got != want {
			t.Errorf("priority %d: got %v, want %v", priority, got, want)
		}
	}
}

func TestTheOldestWaitingTaskIsKnown(t *testing.T) {
	t.Parallel()
	r := newRoom()
	if got := r.Oldest("echo"); !got.IsZero() {
		t.Errorf("nobody has waited since %s", got)
	}
	r.queue(waits{id: "a", tenant: "a", age: time.Minute}, waits{id: "b", tenant: "b", age: time.Hour}, waits{id: "c", priority: 9})
	if got := r.Oldest("echo"); !got.Equal(start.Add(-time.Hour)) {
		t.Errorf("the oldest has waited since %s", got)
	}
	r.queue(waits{id: "retry", priority: 9, attempt: 1, age: 2 * time.Hour})
	if got := r.Oldest("echo"); !got.Equal(start.Add(-2 * time.Hour)) {
		t.Errorf("the retry has waited since %s", got)
	}
}

// crowd draws tasks of some tenants, priorities, ages and attempts, and lets some of them have slots already.
func crowd(t *rapid.T) *room {
	r := newRoom()
	for n := range rapid.IntRange(0, 60).Draw(t, "tasks") {
		r.queue(waits{
			id: fmt.Sprintf("task-%02d", n), priority: rapid.IntRange(0, 3).Draw(t, "priority"),
			tenant: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "tenant"), attempt: rapid.IntRange(-2, 1).Draw(t, "attempt"),
			age: time.Duration(rapid.IntRange(0, 9).Draw(t, "age")) * time.Second,
		})
		if rapid.IntRange(0, 3).Draw(t, "slot") == 0 {
			r.slot()
		}
	}
	return r
}

func TestWaitingIsTheOrderInWhichTasksGetSlotsAsAProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := crowd(t)
		want := r.order()
		if r.QueueLen("echo") != len(want) {
			t.Fatalf("%d tasks wait, and %d come", r.QueueLen("echo"), len(want))
		}
		for place, id := range want {
			if got := r.Position(r.Open(id), 1000); got != place+1 {
				t.Fatalf("the position of %s is %d, want %d", id, got, place+1)
			}
		}
		if diff := cmp.Diff(want, r.slots(len(want))); diff != "" {
			t.Fatal(diff)
		}
		if r.QueueLen("echo") != 0 || r.slot() != "" {
			t.Fatal("somebody still waits")
		}
	})
}

func TestWithinATenantAndAPriorityTheOlderGoesFirstAsAProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		last := make(map[string]*index.Task)
		for task := range crowd(t).Waiting("echo", "") {
			line := fmt.Sprint(task.Tenant(), task.Terms.Priority, task.Terms.Attempt > 0)
			if before := last[line]; before != nil && task.SubmittedAt.Before(before.SubmittedAt.Time) {
				t.Fatalf("%s comes after %s, which is younger", task.ID, before.ID)
			}
			last[line] = task
		}
	})
}

// full is a room where very many wait, of several tenants and priorities.
func full(n, tenants int) *room {
	r := newRoom()
	for i := range n {
		r.queue(waits{
			id: fmt.Sprintf("task-%07d", i), priority: i % 3, tenant: fmt.Sprint("tenant-", i%tenants),
			age: time.Duration(n-i) * time.Millisecond,
		})
	}
	return r
}

func BenchmarkOf100000Waiting(b *testing.B) {
	for _, tenants := range []int{1, 1000} {
		r := full(100_000, tenants)
		name := fmt.Sprintf("%d tenants/", tenants)
		b.Run(name+"a slot", func(b *testing.B) {
			b.ReportAllocs()
			for n := range b.N {
				id := r.slot()
				r.queue(waits{id: fmt.Sprintf("new-%09d-%s", n, id), priority: n % 3, tenant: "tenant-0"})
			}
		})
		b.Run(name+"a task comes back", func(b *testing.B) {
			b.ReportAllocs()
			for n := range b.N {
				r.queue(waits{id: fmt.Sprintf("back-%09d", n), priority: 1, tenant: "tenant-0", age: time.Hour, attempt: 1})
			}
		})
		b.Run(name+"the first 512", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				looked := 0
				for range r.Waiting("echo", "a") {
					if looked++; looked == 512 {
						break
					}
				}
			}
		})
	}
}

func TestQueuesForgetWhoHasGone(t *testing.T) {
	t.Parallel()
	r := full(1000, 50)
	r.queue(waits{id: "pinned", pin: "a"})
	for _, id := range slices.Sorted(maps.Keys(allOf(r))) {
		r.apply(schemas.PhaseAssigned, waits{id: id}, "a")
	}
	if r.Queues() != 0 {
		t.Errorf("%d queues are kept of tasks that wait no more", r.Queues())
	}
}

func allOf(r *room) map[string]bool {
	ids := make(map[string]bool)
	for t := range r.All() {
		ids[t.ID] = true
	}
	return ids
}
