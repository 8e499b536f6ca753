package window

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

func TestWindow(t *testing.T) {
	t.Parallel()
	l := Limits{Chunks: 3, Bytes: 10}.WithDefaults()
	for _, tt := range []struct {
		name  string
		steps func(w *Window)
		acked int64
		sent  int64
		room  bool // for two bytes
	}{
		{"it begins with room", func(*Window) {}, 5, 5, true},
		{"it is full after so many chunks", func(w *Window) { w.Send(1); w.Send(1); w.Send(1) }, 5, 8, false},
		{"or after so many bytes", func(w *Window) { w.Send(9) }, 5, 6, false},
		{"one chunk may always be under way", func(w *Window) { w.Send(99); w.Ack(6) }, 6, 6, true},
		{"an acknowledgement makes room", func(w *Window) { w.Send(5); w.Send(5); w.Ack(6) }, 6, 7, true},
		{"it counts for all before it", func(w *Window) { w.Send(1); w.Send(8); w.Send(1); w.Ack(7) }, 7, 8, true},
		{"an old one counts for nothing", func(w *Window) { w.Send(1); w.Ack(6); w.Ack(5) }, 6, 6, true},
		{"one beyond what was sent is believed", func(w *Window) { w.Send(9); w.Ack(9) }, 9, 9, true},
		{"what did not arrive was not sent", func(w *Window) { w.Send(1); w.Send(9); w.Back(6) }, 5, 6, true},
		{"even what was acknowledged", func(w *Window) { w.Send(1); w.Ack(6); w.Back(3) }, 3, 3, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWindow(l, 5)
			tt.steps(&w)
			if w.Acked() != tt.acked || w.Sent() != tt.sent || w.Room(2) != tt.room {
				t.Errorf("acked %d, sent %d, room %v", w.Acked(), w.Sent(), w.Room(2))
			}
		})
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	l := Limits{ReplayChunks: 3, Bytes: 10}.WithDefaults()
	body := func(size int) []byte { return []byte(strings.Repeat("x", size)) }
	for _, tt := range []struct {
		name        string
		steps       func(r *Replay)
		first, next int64
	}{
		{"it begins empty", func(*Replay) {}, 7, 7},
		{"it keeps so many chunks", func(r *Replay) { r.Add(body(1)); r.Add(body(1)); r.Add(body(1)); r.Add(body(1)) }, 8, 11},
		{"or so many bytes", func(r *Replay) { r.Add(body(6)); r.Add(body(6)) }, 8, 9},
		{"but the last one always", func(r *Replay) { r.Add(body(1)); r.Add(body(99)) }, 8, 9},
		{"nothing that comes before one that cannot be carried", func(r *Replay) { r.Add(body(1)); r.Skip(); r.Add(body(1)) }, 9, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newReplay(l, 7)
			tt.steps(&r)
			if r.First() != tt.first || r.Next() != tt.next {
				t.Errorf("from %d to before %d", r.First(), r.Next())
			}
			for n := r.First() - 1; n <= r.Next(); n++ {
				if kept := n >= r.First() && n < r.Next(); (r.At(n) != nil) != kept {
					t.Errorf("chunk %d: %v", n, !kept)
				}
			}
		})
	}
}

func TestRateOfAReader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		made    int64
		blocked time.Duration
		taken   int64
		elapsed time.Duration
		want    judgement
	}{
		{"nobody is judged before the span is over", 1000, 0, 0, 4999 * time.Millisecond, tooEarly},
		{"nor by a handful of chunks", 31, 0, 0, time.Minute, tooEarly},
		{"a quarter of the agent's rate is too slow", 100, 0, 25, 5 * time.Second, tooSlow},
		{"a little below the share is too slow", 1000, 0, 299, 5 * time.Second, tooSlow},
		{"the share itself is fast enough", 1000, 0, 300, 5 * time.Second, fastEnough},
		{"the agent's rate counts only time in which it was not blocked", 125, 3750 * time.Millisecond, 125, 5 * time.Second, tooSlow},
		{"60 % of that rate is fast enough", 300, 2 * time.Second, 300, 5 * time.Second, fastEnough},
		{"one that has more to catch up with than was made", 40, 0, 900, 5 * time.Second, fastEnough},
		{"an agent that is always blocked is very fast", 40, 5 * time.Second, 40, 5 * time.Second, tooSlow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := pace{since: noon, made: 7}
			m := p.mark(3, noon)
			p.block(noon)
			p.unblock(at(tt.blocked))
			p.made += tt.made
			if got := p.judge(m, 3+tt.taken, Limits{}.WithDefaults(), at(tt.elapsed)); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestBlockedTimeThatGoesOnDoesNotCount(t *testing.T) {
	t.Parallel()
	p := pace{since: noon}
	p.block(at(time.Second))
	p.block(at(2 * time.Second))
	if diff := cmp.Diff(time.Second, p.free(at(5*time.Second))); diff != "" {
		t.Error(diff)
	}
	p.unblock(at(5 * time.Second))
	p.unblock(at(6 * time.Second))
	if diff := cmp.Diff(2*time.Second, p.free(at(6*time.Second))); diff != "" {
		t.Error(diff)
	}
}
