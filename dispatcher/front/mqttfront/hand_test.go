package mqttfront

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

var t0 = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return t0.Add(d) }

// newTestHand has two slots, one of them for echo.
func newTestHand() *hand {
	return newHand(&schemas.Registration{MaxConcurrency: 2, Capabilities: []schemas.Offer{
		{ID: "echo"}, {ID: "work", MaxConcurrency: 2},
	}}, 100*time.Millisecond, time.Second)
}

func pieceOf(task string, sequence uint64, capability string) *piece {
	return &piece{
		Handover: schemas.Handover{TaskID: task, Sequence: sequence, Attempt: 1}, capability: capability, runs: 10 * time.Second,
	}
}

func names(pieces ...*piece) []string {
	var names []string
	for _, p := range pieces {
		if p != nil {
			names = append(names, fmt.Sprintf("%s@%d", p.TaskID, p.Sequence))
		}
	}
	slices.Sort(names)
	return names
}

func TestHandGivesWhatHasASlot(t *testing.T) {
	t.Parallel()
	const late = 200 * time.Millisecond
	tests := []struct {
		name  string
		moves func(h *hand)
		offer *piece
		want  []string
	}{
		{"a first task is given", func(*hand) {}, pieceOf("a", 1, "echo"), []string{"a@1"}},
		{"what comes by two ways is given once", func(h *hand) { h.offer(pieceOf("a", 1, "echo"), after(late)) }, pieceOf("a", 1, "echo"), nil},
		{"what was not received is given again", func(h *hand) { h.offer(pieceOf("a", 1, "echo"), t0) }, pieceOf("a", 1, "echo"), []string{"a@1"}},
		{"what was received is not", func(h *hand) {
			h.offer(pieceOf("a", 1, "echo"), t0)
			h.received("a", 1, t0)
		}, pieceOf("a", 1, "echo"), nil},
		{"nor what has begun under the next sequence", func(h *hand) {
			h.offer(pieceOf("a", 1, "echo"), t0)
			h.received("a", 2, t0)
		}, pieceOf("a", 1, "echo"), nil},
		{"a newer attempt voids the older", func(h *hand) {
			h.offer(pieceOf("a", 1, "echo"), t0)
			h.received("a", 2, t0)
		}, pieceOf("a", 5, "echo"), []string{"a@5"}},
		{"what has ended does not come again", func(h *hand) { h.end("a", 3) }, pieceOf("a", 3, "echo"), nil},
		{"its next attempt does", func(h *hand) { h.end("a", 3) }, pieceOf("a", 4, "echo"), []string{"a@4"}},
		{"what the device holds already is not given", func(h *hand) { h.heard([]uint64{7}, t0) }, pieceOf("a", 7, "echo"), nil},
		{"a capability has its own slots", func(h *hand) { h.offer(pieceOf("a", 1, "echo"), t0) }, pieceOf("b", 2, "echo"), nil},
		{"and all together have theirs", func(h *hand) {
			h.offer(pieceOf("a", 1, "work"), t0)
			h.heard([]uint64{9}, t0)
		}, pieceOf("b", 2, "work"), nil},
		{"a slot that is free again is used", func(h *hand) {
			h.offer(pieceOf("a", 1, "echo"), t0)
			h.end("a", 1)
		}, pieceOf("b", 2, "echo"), []string{"b@2"}},
	}
	for _, tt := range tests {
		h := newTestHand()
		tt.moves(h)
		if diff := cmp.Diff(tt.want, names(h.offer(tt.offer, after(late)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestHandTicks(t *testing.T) {
	t.Parallel()
	h := newTestHand()
	h.offer(pieceOf("a", 1, "echo"), t0)
	h.offer(pieceOf("b", 2, "echo"), t0)
	h.offer(pieceOf("c", 3, "echo"), after(50*time.Millisecond))
	steps := []struct {
		name                   string
		at                     time.Duration
		before                 func()
		give, back, stop, fail []string
		next                   time.Duration // 0: never
	}{
		{"nothing is due", 10 * time.Millisecond, func() {}, nil, nil, nil, nil, 100 * time.Millisecond},
		{"what has waited goes back", 110 * time.Millisecond, func() {}, nil, []string{"b@2"}, nil, nil, 150 * time.Millisecond},
		{"what waits gets the free slot", 120 * time.Millisecond, func() { h.end("a", 1) }, []string{"c@3"}, nil, nil, nil, 0},
		{"a run limit counts from the receipt", 2 * time.Second, func() { h.received("c", 4, after(time.Second)) }, nil, nil, nil, nil, 11 * time.Second},
		{"after it the device is told to stop", 11 * time.Second, func() {}, nil, nil, []string{"c@4"}, nil, 12 * time.Second},
		{"that it no longer names it is not its word", 11500 * time.Millisecond, func() { h.heard(nil, t0) }, nil, nil, nil, nil, 12 * time.Second},
		{"and then given up", 12 * time.Second, func() {}, nil, nil, nil, []string{"c@4"}, 13 * time.Second},
		{"again until that is stored", 13 * time.Second, func() {}, nil, nil, nil, []string{"c@4"}, 14 * time.Second},
		{"and then no more", 14 * time.Second, func() { h.end("c", 4) }, nil, nil, nil, nil, 0},
	}
	for _, tt := range steps {
		tt.before()
		s := h.tick(after(tt.at))
		got := [][]string{names(s.give...), names(s.back...), names(s.stop...), names(s.fail...)}
		if diff := cmp.Diff([][]string{tt.give, tt.back, tt.stop, tt.fail}, got); diff != "" {
			t.Errorf("%s: give, back, stop, fail (-want +got):\n%s", tt.name, diff)
		}
		want := after(tt.next)
		if tt.next == 0 {
			want = time.Time{}
		}
		if !s.next.Equal(want) {
			t.Errorf("%s: next %v, want %v", tt.name, s.next, want)
		}
	}
}

func TestHandBelievesTheDevice(t *testing.T) {
	t.Parallel()
	h := newTestHand()
	h.offer(pieceOf("a", 1, "work"), t0)
	h.received("a", 2, t0)
	h.offer(pieceOf("b", 3, "echo"), t0)
	h.heard([]uint64{2, 8}, t0)
	if diff := cmp.Diff([]uint64{2, 8}, h.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	h.heard(nil, t0) // b has not reached it: that it does not name it says nothing
	if free, total := h.free(); total != 1 || free["work"] != 1 || free["echo"] != 0 {
		t.Errorf("free are %v, %d", free, total)
	}
}

func TestHandLooksAfterWhatOthersGave(t *testing.T) {
	t.Parallel()
	begun := func(task string, sequence uint64) *piece {
		p := pieceOf(task, sequence, "echo")
		p.Begin, p.begun = true, true
		return p
	}
	tests := []struct {
		name  string
		moves func(h *hand)
		held  []uint64
		free  int      // of two slots
		stop  []string // at the run limit of what was taken in at t0
	}{
		{"what the device names is watched from now on", func(h *hand) {
			h.heard([]uint64{4}, t0)
			h.takeIn(begun("a", 4), t0)
		}, []uint64{4}, 1, []string{"a@4"}},
		{"and so is what it has begun and does not name, without a slot", func(h *hand) { h.takeIn(begun("a", 4), t0) }, nil, 2, []string{"a@4"}},
		{"that it does not name it again changes nothing", func(h *hand) {
			h.takeIn(begun("a", 4), t0)
			h.heard(nil, after(time.Second))
			h.takeIn(begun("a", 4), after(time.Second))
		}, nil, 2, []string{"a@4"}},
		{"it may name it later", func(h *hand) {
			h.takeIn(begun("a", 4), t0)
			h.heard([]uint64{4}, after(time.Second))
		}, []uint64{4}, 1, []string{"a@4"}},
		{"what it began here and forgets is lost, too", func(h *hand) {
			p := pieceOf("a", 3, "echo")
			p.Begin = true
			h.offer(p, t0)
			h.received("a", 4, t0)
			h.heard(nil, after(time.Second))
		}, nil, 2, []string{"a@4"}},
		{"what may run twice is only over", func(h *hand) {
			h.offer(pieceOf("a", 3, "echo"), t0)
			h.received("a", 3, t0)
			h.heard(nil, after(time.Second))
		}, nil, 2, nil},
		{"what has ended here is not taken in", func(h *hand) {
			h.end("a", 4)
			h.takeIn(begun("a", 4), t0)
		}, nil, 2, nil},
		{"an older attempt makes way", func(h *hand) {
			h.takeIn(begun("a", 4), t0)
			h.heard([]uint64{9}, t0)
			h.takeIn(begun("a", 9), t0)
		}, []uint64{9}, 1, []string{"a@9"}},
	}
	for _, tt := range tests {
		h := newTestHand()
		tt.moves(h)
		if diff := cmp.Diff(tt.held, h.held()); diff != "" {
			t.Errorf("%s: held (-want +got):\n%s", tt.name, diff)
		}
		if _, total := h.free(); total != tt.free {
			t.Errorf("%s: %d are free, want %d", tt.name, total, tt.free)
		}
		if diff := cmp.Diff(tt.stop, names(h.tick(after(10*time.Second)).stop...)); diff != "" {
			t.Errorf("%s: told to stop (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestWhatIsLostIsBounded(t *testing.T) {
	t.Parallel()
	h := newTestHand()
	for i := range uint64(2 * maxLost) {
		h.takeIn(pieceOf(fmt.Sprint(i), i+1, "echo"), t0)
	}
	if len(h.given) != maxLost {
		t.Errorf("%d lost tasks are looked after", len(h.given))
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := make(memory)
	for i := range 2 * maxMemory {
		m.add(fmt.Sprint(i), 1)
	}
	if len(m) != maxMemory {
		t.Errorf("%d tasks are remembered", len(m))
	}
}

func TestDebts(t *testing.T) {
	t.Parallel()
	d := newDebts(time.Second, 4*time.Second, 2)
	for _, id := range []string{"c", "a", "b"} {
		d.add(id, false)
	}
	var followed []string
	for _, one := range d.unfollowed(2) {
		followed = append(followed, one.taskID)
	}
	if diff := cmp.Diff([]string{"a", "b"}, followed); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
	if more := d.unfollowed(2); len(more) > 0 {
		t.Errorf("%d are followed beyond the bound", len(more))
	}
	for _, one := range d.tasks {
		one.ended = true
	}
	steps := []struct {
		name   string
		at     time.Duration
		before func()
		send   []string
		again  time.Duration // 0: never
	}{
		{"the oldest ends are sent at once, as many as the window takes", 0, func() {}, []string{"a", "b"}, time.Second},
		{"not again before their time", 500 * time.Millisecond, func() {}, nil, time.Second},
		{"then again, and later", time.Second, func() {}, []string{"a", "b"}, 3 * time.Second},
		{"an acknowledgement makes room", 2 * time.Second, func() { delete(d.tasks, "a") }, []string{"c"}, 3 * time.Second},
		{"the waits grow up to a bound", 20 * time.Second, func() {}, []string{"b", "c"}, 22 * time.Second},
		{"a device that is back gets all at once", 21 * time.Second, d.back, []string{"b", "c"}, 22 * time.Second},
		{"nothing is owed any more", 22 * time.Second, func() { clear(d.tasks) }, nil, 0},
	}
	for _, tt := range steps {
		tt.before()
		send, again := d.due(after(tt.at))
		var got []string
		for _, one := range send {
			got = append(got, one.taskID)
		}
		if diff := cmp.Diff(tt.send, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if want := after(tt.again); !again.Equal(want) && (tt.again != 0 || !again.IsZero()) {
			t.Errorf("%s: again at %v, want %v", tt.name, again, want)
		}
	}
}

func TestWritesAreNamedAfterWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	one := writeID("app-1", "result", "a", 1)
	if one != writeID("app-1", "result", "a", 1) || !schemas.IsToken(one) {
		t.Errorf("%q", one)
	}
	for _, other := range []string{
		writeID("app-2", "result", "a", 1), writeID("app-1", "release", "a", 1), writeID("app-1", "result", "b", 1),
		writeID("app-1", "result", "a", 2),
	} {
		if other == one {
			t.Error("two writes have one name")
		}
	}
}
