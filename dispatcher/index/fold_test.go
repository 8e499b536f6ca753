package index_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

var start = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// ledger is what the broker would keep: the last event of each subject.
type ledger struct {
	last   uint64
	stored map[string]index.Event // by subject
	all    []index.Event
}

func newLedger() *ledger { return &ledger{stored: make(map[string]index.Event)} }

func (l *ledger) write(taskID string, phase schemas.Phase, agentID string, previous uint64, priority int) index.Event {
	l.last++
	e := index.Event{Sequence: l.last, Previous: previous, TaskID: taskID, Phase: phase, Capability: "echo", AgentID: agentID, At: start}
	if phase == schemas.PhaseDone {
		e.Record = &schemas.Record{Task: schemas.Task{TaskID: taskID, State: schemas.StateCompleted, Capability: "echo"}}
	} else {
		e.Message = &schemas.ReachMessage{
			TaskID: taskID, Tenant: "default", Priority: &priority, SubmittedAt: schemas.At(start), ExpiresAt: schemas.At(start.Add(time.Hour)),
			NotBefore: schemas.At(start.Add(time.Minute)),
		}
	}
	l.stored[fmt.Sprint(taskID, phase, agentID)] = e
	l.all = append(l.all, e)
	return e
}

func (l *ledger) read(from, to uint64) []index.Event {
	var events []index.Event
	for _, e := range l.stored {
		if e.Sequence >= from && e.Sequence <= to {
			events = append(events, e)
		}
	}
	slices.SortFunc(events, func(a, b index.Event) int { return int(a.Sequence) - int(b.Sequence) })
	return events
}

// live writes random but lawful histories of tasks.
func live(t *rapid.T) *ledger {
	l := newLedger()
	type at struct {
		sequence uint64
		phase    schemas.Phase
		agent    string
	}
	tasks := make(map[int]at)
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		n := rapid.IntRange(0, 7).Draw(t, "task")
		id := fmt.Sprintf("task-%d", n)
		now := tasks[n]
		if now.phase == schemas.PhaseDone {
			continue
		}
		next := at{phase: rapid.SampledFrom(following(now.phase)).Draw(t, "phase"), agent: now.agent}
		switch next.phase {
		case schemas.PhaseAssigned:
			next.agent = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "agent")
		case schemas.PhaseQueued, schemas.PhaseScheduled:
			next.agent = ""
		}
		next.sequence = l.write(id, next.phase, next.agent, now.sequence, n%3).Sequence
		tasks[n] = next
	}
	return l
}

func following(phase schemas.Phase) []schemas.Phase {
	switch phase {
	case schemas.PhaseScheduled, schemas.PhaseQueued:
		return []schemas.Phase{schemas.PhaseAssigned, schemas.PhaseQueued, schemas.PhaseDone}
	case schemas.PhaseAssigned:
		return []schemas.Phase{schemas.PhaseAssigned, schemas.PhaseBegun, schemas.PhaseQueued, schemas.PhaseScheduled, schemas.PhaseDone}
	case schemas.PhaseBegun:
		return []schemas.Phase{schemas.PhaseDone, schemas.PhaseAssigned}
	}
	return []schemas.Phase{schemas.PhaseScheduled, schemas.PhaseQueued, schemas.PhaseAssigned}
}

// picture is all that an index says.
type picture struct {
	Open    map[string]string
	Waiting []string
	Loads   map[string][]string
	Length  int
	Due     []string
	Expired []string
}

func pictureOf(x *index.Index) picture {
	p := picture{Open: make(map[string]string), Loads: make(map[string][]string), Length: x.QueueLen("echo")}
	for t := range x.All() {
		p.Open[t.ID] = fmt.Sprint(t.Sequence, t.Phase, t.AgentID)
	}
	for t := range x.Waiting("echo", "a") {
		p.Waiting = append(p.Waiting, t.ID)
	}
	slices.Sort(p.Waiting) // whose turn it is, only those know who saw the slots being given
	for agent, load := range x.Busy() {
		for t := range load.Tasks() {
			p.Loads[agent] = append(p.Loads[agent], t.ID)
		}
		slices.Sort(p.Loads[agent])
	}
	for _, t := range x.Due(start.Add(2 * time.Minute)) {
		p.Due = append(p.Due, t.ID)
	}
	for _, t := range x.Expired(start.Add(2 * time.Hour)) {
		p.Expired = append(p.Expired, t.ID)
	}
	slices.Sort(p.Due)
	slices.Sort(p.Expired)
	p.Due, p.Expired = slices.Compact(p.Due), slices.Compact(p.Expired)
	return p
}

func scan(l *ledger) *index.Index {
	x := index.New()
	order := index.NewOrder(0)
	for _, e := range order.Fill(l.read(1, l.last), l.last, start) {
		x.Apply(e)
	}
	return x
}

// hurt drops, doubles and permutes the events of a feed.
func hurt(t *rapid.T, events []index.Event) []index.Event {
	var out []index.Event
	for _, e := range events {
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "copies") {
			out = append(out, e)
		}
	}
	return rapid.Permutation(out).Draw(t, "order")
}

func TestAnyPermutationDoublingAndOmissionWithRefillIsTheLedgersScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := live(t)
		x, order, now := index.New(), index.NewOrder(0), start
		apply := func(events []index.Event) {
			for _, e := range events {
				x.Apply(e)
			}
		}
		for _, e := range hurt(t, l.all) {
			apply(order.Add(e, now))
			now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "ms")) * time.Millisecond)
			if from, to, found := order.Gap(now); found {
				apply(order.Fill(l.read(from, to), to, now))
			}
		}
		apply(order.Fill(l.read(order.Applied()+1, l.last), l.last, now))
		if order.Applied() != l.last {
			t.Fatalf("applied %d of %d", order.Applied(), l.last)
		}
		if diff := cmp.Diff(pictureOf(scan(l)), pictureOf(x)); diff != "" {
			t.Fatalf("the fold differs from the scan:\n%s", diff)
		}
	})
}

func TestAFinishedTaskNeverOpensAgainWhateverComesLate(t *testing.T) {
	t.Parallel()
	l := newLedger()
	assigned := l.write("task", schemas.PhaseAssigned, "a", 0, 5)
	done := l.write("task", schemas.PhaseDone, "a", assigned.Sequence, 5)
	order, x := index.NewOrder(0), index.New()
	for _, e := range []index.Event{done, assigned, done, assigned} {
		for _, ready := range order.Add(e, start) {
			x.Apply(ready)
		}
	}
	if x.Open("task") != nil || x.Len() != 0 {
		t.Error("the task is open after its end")
	}
}

func TestOrderHoldsBackUntilTheHoleIsOldOrMuchWaits(t *testing.T) {
	t.Parallel()
	event := func(n uint64) index.Event { return index.Event{Sequence: n} }
	order := index.NewOrder(10)
	if got := order.Add(event(12), start); got != nil {
		t.Errorf("an event behind a hole was given out: %v", got)
	}
	if _, _, found := order.Gap(start.Add(index.MaxHold - 1)); found {
		t.Error("a young hole is not read yet")
	}
	from, to, found := order.Gap(start.Add(index.MaxHold))
	if !found || from != 11 || to != 11 {
		t.Errorf("got the hole %d–%d (%v), want 11–11", from, to, found)
	}
	if got := order.Fill(nil, 11, start); len(got) != 1 || order.Applied() != 12 {
		t.Errorf("an empty hole gives out what waited: got %v, applied %d", got, order.Applied())
	}
	for n := range uint64(index.MaxHeld) {
		order.Add(event(100+n), start)
	}
	if _, to, found := order.Gap(start); !found || to != 99 {
		t.Errorf("a full hold is read at once, up to 99: got %d (%v)", to, found)
	}
	order.Add(event(5000), start)
	if !order.Wants(5000) {
		t.Error("what does not fit is dropped, to be read later")
	}
}

func TestAHoleThatIsClosingIsNotRead(t *testing.T) {
	t.Parallel()
	order, now := index.NewOrder(0), start
	order.Add(index.Event{Sequence: 50}, now) // an own write, of which we know before the feed tells
	for n := range uint64(20) {
		now = now.Add(index.MaxHold / 2)
		order.Add(index.Event{Sequence: n + 1}, now)
		if _, _, found := order.Gap(now); found {
			t.Fatalf("the ledger is read after event %d although the feed goes on", n+1)
		}
	}
	if from, to, found := order.Gap(now.Add(index.MaxHold)); !found || from != 21 || to != 49 {
		t.Errorf("got the hole %d–%d (%v) of a feed that has stopped, want 21–49", from, to, found)
	}
}

func TestWaitingComesByPriorityThenAgePinnedFirst(t *testing.T) {
	t.Parallel()
	x := index.New()
	queue := func(n uint64, id string, priority int, age time.Duration, pin string) {
		x.Apply(index.Event{Sequence: n, TaskID: id, Phase: schemas.PhaseQueued, Capability: "echo", Message: &schemas.ReachMessage{
			Priority: &priority, SubmittedAt: schemas.At(start.Add(-age)), WaitForAgent: pin != "", PreferAgent: pin,
		}})
	}
	queue(1, "young-low", 1, time.Second, "")
	queue(2, "young-high", 9, time.Second, "")
	queue(3, "old-high", 9, time.Minute, "")
	queue(4, "pinned-to-a", 0, 0, "a")
	queue(5, "pinned-to-b", 9, 0, "b")
	var got []string
	for task := range x.Waiting("echo", "a") {
		got = append(got, task.ID)
	}
	if diff := cmp.Diff([]string{"pinned-to-a", "old-high", "young-high", "young-low"}, got); diff != "" {
		t.Error(diff)
	}
	if got := x.Position(x.Open("young-high"), 100); got != 2 {
		t.Errorf("position of young-high: got %d, want 2", got)
	}
	if x.QueueLen("echo") != 5 || x.PinnedLen("b") != 1 {
		t.Errorf("lengths: got %d and %d, want 5 and 1", x.QueueLen("echo"), x.PinnedLen("b"))
	}
}

func TestDeadlinesAreBoundedByTheOpenTasks(t *testing.T) {
	t.Parallel()
	l, x := newLedger(), index.New()
	for n := range 10_000 {
		id := fmt.Sprint("task-", n)
		x.Apply(l.write(id, schemas.PhaseAssigned, "a", 0, 5))
		x.Apply(l.write(id, schemas.PhaseDone, "a", l.last, 5))
	}
	if got := x.Deadlines(); got > 2048 {
		t.Errorf("%d deadlines are kept for no open task", got)
	}
	if got := len(slices.Collect(x.Ended())); got != index.MaxEnded {
		t.Errorf("%d ended tasks are remembered, want %d", got, index.MaxEnded)
	}
	if got := firstEnded(x); got != "task-9999" {
		t.Errorf("the newest ended task is %s, want task-9999", got)
	}
}

func firstEnded(x *index.Index) string {
	for e := range x.Ended() {
		return e.Task.TaskID
	}
	return ""
}
