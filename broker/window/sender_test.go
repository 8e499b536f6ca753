package window

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

// story is a Sender, and what it said, told in lines.
type story struct {
	s    *Sender
	now  time.Time
	said []string
}

func newStory(start Start, limits ...Limits) *story {
	l := Limits{Chunks: 4, Reach: 4, ReplayChunks: 8}
	if len(limits) > 0 {
		l = limits[0]
	}
	start.Attempt = max(start.Attempt, 1)
	st := &story{now: noon}
	s, sends := Open(l, start, noon)
	st.s = s
	st.note(sends)
	return st
}

func (st *story) note(sends []Send) {
	for _, send := range sends {
		to := send.Reader
		if to == "" {
			to = "all"
		}
		what := string(send.Body)
		if send.Notice != nil {
			n := *send.Notice
			what = strings.TrimSpace(fmt.Sprintf("%s %s%s%s", n.Notice, number(" next ", n.Next), number(" from ", n.From), number(" to ", n.To)))
			what = strings.Join(strings.Fields(what), " ")
		}
		st.said = append(st.said, to+": "+what)
	}
}

func number(name string, n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(name, n)
}

// write adds so many chunks where there is room, and reports whether there was.
func (st *story) write(count int) bool {
	for range count {
		n, _ := st.s.Next()
		body := fmt.Appendf(nil, "%d", n)
		if !st.s.Room(len(body), st.now) {
			return false
		}
		st.note(st.s.Add(body, st.now))
	}
	return true
}

func (st *story) credit(words string) {
	var c schemas.Credit
	if err := json.Unmarshal([]byte(words), &c); err != nil {
		panic(err)
	}
	st.note(st.s.Credit(c, st.now))
}

func (st *story) after(d time.Duration) {
	st.now = st.now.Add(d)
	st.note(st.s.Tick(st.now))
}

// heard is what was said since it was last asked.
func (st *story) heard() string {
	said := strings.Join(st.said, ", ")
	st.said = nil
	return said
}

func (st *story) expect(t *testing.T, want string) {
	t.Helper()
	if diff := cmp.Diff(want, st.heard()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWithoutReadersTheWindowIsOpen(t *testing.T) {
	t.Parallel()
	st := newStory(Start{})
	if !st.write(100) {
		t.Error("the agent was blocked")
	}
	if n, _ := st.s.Next(); n != 101 || st.s.Last() != 100 {
		t.Errorf("next is %d, last %d", n, st.s.Last())
	}
}

func TestOneReader(t *testing.T) {
	t.Parallel()
	st := newStory(Start{})
	st.credit(`{"reader":"a","resume":1}`)
	if st.write(5) {
		t.Error("the window has no end")
	}
	st.expect(t, "all: 1, all: 2, all: 3, all: 4")
	st.credit(`{"reader":"a","ack":3}`)
	if !st.write(3) || st.write(1) {
		t.Error("three acknowledged chunks make room for three")
	}
	st.expect(t, "all: 5, all: 6, all: 7")
	st.credit(`{"reader":"a","ack":3,"resume":5}`)
	st.expect(t, "a: 5, a: 6, a: 7")
	st.note(st.s.Lost(st.now))
	st.expect(t, "a: 4, a: 5, a: 6, a: 7")
	st.credit(`{"reader":"a","leave":true}`)
	if !st.write(100) {
		t.Error("a reader that has left blocks the agent")
	}
}

func TestAReaderWithoutANameThatOnlyAcknowledges(t *testing.T) {
	t.Parallel()
	st := newStory(Start{})
	st.write(3)
	st.credit(`{"ack":2}`)
	st.heard()
	if !st.write(3) || st.write(1) {
		t.Error("it has heard what went out before its first word")
	}
	st.credit(`{"resume":4}`)
	st.expect(t, "all: 4, all: 5, all: 6, -: 4, -: 5, -: 6")
}

func TestTheWindowFollowsTheFastest(t *testing.T) {
	t.Parallel()
	st := newStory(Start{})
	st.credit(`{"reader":"slow","resume":1}`)
	st.credit(`{"reader":"fast","resume":1}`)
	st.write(4)
	st.credit(`{"reader":"fast","ack":4}`)
	st.heard()
	if !st.write(4) || st.write(1) {
		t.Error("the window is the fastest one's")
	}
	st.expect(t, "all: 5, all: 6, all: 7, all: 8")
	st.credit(`{"reader":"slow","ack":2}`)
	st.expect(t, "slow: 5, slow: 6")
	st.credit(`{"reader":"fast","ack":8}`)
	st.write(4)
	st.heard()
	st.credit(`{"reader":"slow","ack":4}`)
	st.expect(t, "slow: 7, slow: 8")
	st.credit(`{"reader":"fast","ack":12}`)
	st.write(4)
	st.heard()
	st.credit(`{"reader":"slow","ack":5}`)
	st.expect(t, "slow: 9")
	st.credit(`{"reader":"fast","ack":16}`)
	st.write(3)
	st.heard()
	st.credit(`{"reader":"slow","ack":7}`)
	st.expect(t, "slow: gap from 10 to 11")
	st.credit(`{"reader":"slow","ack":9}`)
	st.expect(t, "")
	st.credit(`{"reader":"slow","resume":10}`)
	st.expect(t, "slow: gap from 10 to 11")
}

func TestAReaderWithinReachHearsWhatGoesOutToAll(t *testing.T) {
	t.Parallel()
	st := newStory(Start{}, Limits{Chunks: 4, Reach: 6})
	st.credit(`{"reader":"slow","resume":1}`)
	st.credit(`{"reader":"fast","resume":1}`)
	st.write(4)
	st.credit(`{"reader":"fast","ack":4}`)
	st.write(4)
	st.heard()
	st.credit(`{"reader":"slow","ack":1}`)
	st.expect(t, "") // it has 1 to 6, and no room for more
	st.credit(`{"reader":"slow","ack":4}`)
	st.expect(t, "slow: 7, slow: 8")
}

func TestALateReader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		written        int
		credit, expect string
	}{
		{"gets the replay first", 6, `{"reader":"a","resume":1}`, "a: 1, a: 2, a: 3, a: 4"},
		{"gets it from where it wants to go on", 6, `{"reader":"a","resume":5}`, "a: 5, a: 6"},
		{"gets one gap where the replay does not go back that far", 10, `{"reader":"a","resume":1}`, "a: gap from 1 to 2"},
		{"may have seen all there is", 6, `{"reader":"a","resume":7}`, ""},
		{"is told if it wants what there never was", 6, `{"reader":"a","resume":9}`, "a: gap from 7 to 8"},
		{"needs a name that can be written anywhere", 6, `{"reader":"a\r\nb","resume":1}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := newStory(Start{})
			st.write(tt.written)
			st.heard()
			st.credit(tt.credit)
			st.expect(t, tt.expect)
		})
	}
}

func TestAReaderThatVanishesNoLongerCounts(t *testing.T) {
	t.Parallel()
	st := newStory(Start{})
	st.credit(`{"reader":"a","resume":1}`)
	st.write(4)
	st.after(4999 * time.Millisecond)
	if st.write(1) {
		t.Error("it was given up too early")
	}
	if got := st.s.Deadline(); !got.Equal(at(5 * time.Second)) {
		t.Errorf("deadline %v", got)
	}
	st.after(time.Millisecond)
	if !st.write(1) {
		t.Error("it still counts")
	}
	st.heard()
	st.credit(`{"reader":"a","ack":2,"resume":5}`)
	st.expect(t, "a: 5")
}

func TestAReaderThatWasAnnouncedIsWaitedFor(t *testing.T) {
	t.Parallel()
	st := newStory(Start{Announced: true})
	if !st.write(4) || st.write(1) {
		t.Error("the window is open, or closed from the start")
	}
	if got := st.s.Deadline(); !got.Equal(at(2 * time.Second)) {
		t.Errorf("deadline %v", got)
	}
	st.after(2 * time.Second)
	if !st.write(10) {
		t.Error("it is waited for without end")
	}
}

func TestASlowReaderAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		share    float64
		switched bool
	}{
		{"at 25 % it gets the result in one piece", 0.25, true},
		{"at 60 % it gets all chunks", 0.6, false},
		{"at 35 %", 0.35, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := newStory(Start{}, Limits{})
			st.credit(`{"reader":"a","resume":1}`)
			switchedAt := st.play(tt.share, 12*time.Second)
			if (switchedAt > 0) != tt.switched {
				t.Fatalf("switched after %v", switchedAt)
			}
			if tt.switched && (switchedAt < 5*time.Second || switchedAt > 6*time.Second) {
				t.Errorf("switched after %v", switchedAt)
			}
		})
	}
}

// play lets an agent that would make a hundred chunks a second and a reader work side by side, and says when that was switched.
func (st *story) play(share float64, d time.Duration) time.Duration {
	const step = time.Millisecond
	begin, taken, credit := st.now, 0.0, 0.0
	ready := st.now
	for st.now.Sub(begin) < d {
		st.now = st.now.Add(step)
		if !st.now.Before(ready) && st.write(1) {
			ready = st.now.Add(10 * time.Millisecond)
		}
		credit = min(credit+share/10, 1)
		if credit >= 1 && int64(taken) < st.s.Last() {
			credit, taken = 0, taken+1
			st.credit(fmt.Sprintf(`{"reader":"a","ack":%d}`, int(taken)))
		}
		if strings.Contains(st.heard(), "a: mode_changed") {
			return st.now.Sub(begin)
		}
	}
	return 0
}

func TestASlowReaderAmongOthersIsSwitchedAlone(t *testing.T) {
	t.Parallel()
	st := newStory(Start{}, Limits{})
	for _, name := range []string{"fast", "slow"} {
		st.credit(fmt.Sprintf(`{"reader":%q,"resume":1}`, name))
	}
	for i := int64(1); i <= 600; i++ {
		st.now = st.now.Add(10 * time.Millisecond)
		if !st.write(1) {
			t.Fatal("the agent was blocked")
		}
		st.credit(fmt.Sprintf(`{"reader":"fast","ack":%d}`, i))
		st.credit(fmt.Sprintf(`{"reader":"slow","ack":%d}`, max(1, i/5)))
	}
	if got := strings.Count(st.heard(), "mode_changed"); got != 1 || st.s.readers.find("slow").reading() || !st.s.readers.find("fast").reading() {
		t.Errorf("%d readers switched", got)
	}
}

func TestAReaderAtAStandstill(t *testing.T) {
	t.Parallel()
	st := newStory(Start{})
	st.credit(`{"reader":"a","resume":1}`)
	st.write(4)
	for range 9 {
		st.after(time.Second)
		st.credit(`{"reader":"a","resume":5}`) // it is there
	}
	if st.write(1) {
		t.Error("it was given up too early")
	}
	st.heard()
	st.after(time.Second)
	st.expect(t, "a: mode_changed")
	if !st.write(1) {
		t.Error("it still blocks the agent")
	}
}

func TestAReaderThatWaitsForTheAgentIsNotSlow(t *testing.T) {
	t.Parallel()
	st := newStory(Start{})
	st.credit(`{"reader":"a","resume":1}`)
	for i := 1; i <= 60; i++ {
		st.after(2 * time.Second)
		st.write(1)
		st.credit(fmt.Sprintf(`{"reader":"a","ack":%d}`, i))
	}
	if said := st.heard(); strings.Contains(said, "mode_changed") {
		t.Error(said)
	}
}

func TestAnotherAttempt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		start  Start
		before []string // credits before it has begun
		began  string
		next   int64
	}{
		{"the first one says nothing", Start{}, nil, "", 1},
		{"a later one goes on with the numbers", Start{Attempt: 2, First: 18}, nil, "all: restarted next 18", 18},
		{"even where the earlier one had no chunks", Start{Attempt: 2}, nil, "all: restarted next 1", 1},
		{
			"where nobody counted, it asks, and goes on where the reader is that is furthest",
			Start{Attempt: 2, Restarts: 1},
			[]string{`{"reader":"a","ack":3,"resume":9}`, `{"reader":"b","resume":18}`},
			"all: restarted, all: restarted next 18", 18,
		},
		{
			"not before what is known",
			Start{Attempt: 3, First: 20, Restarts: 1},
			[]string{`{"reader":"a","resume":18}`},
			"all: restarted, all: restarted next 20", 20,
		},
		{
			"where nobody knows, it takes numbers that nobody has seen",
			Start{Attempt: 3, First: 20, Restarts: 2},
			nil, "all: restarted, all: restarted next 2000000020", 2000000020,
		},
		{
			"no reader can make the numbers end",
			Start{Attempt: 2, Restarts: 1},
			[]string{`{"reader":"a","resume":9007199254740991}`},
			"all: restarted, all: restarted next 1", 1,
		},
		{
			"an assignment that was lost before anybody read is none",
			Start{Restarts: 1},
			[]string{`{"reader":"a","resume":1}`},
			"all: restarted", 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := newStory(tt.start)
			for _, credit := range tt.before {
				if _, begun := st.s.Next(); begun || st.s.Room(1, st.now) {
					t.Error("it has begun already")
				}
				st.credit(credit)
			}
			st.after(500 * time.Millisecond)
			st.expect(t, tt.began)
			if next, begun := st.s.Next(); next != tt.next || !begun {
				t.Errorf("next is %d", next)
			}
		})
	}
}

func TestReadersOfAnotherAttempt(t *testing.T) {
	t.Parallel()
	st := newStory(Start{Attempt: 2, First: 18})
	st.write(2)
	st.heard()
	st.credit(`{"reader":"a","resume":18}`)
	st.expect(t, "a: restarted next 18, a: 18, a: 19")
	st.credit(`{"reader":"a","resume":18}`)
	st.expect(t, "a: restarted next 18, a: 18, a: 19")
	st.credit(`{"reader":"a","resume":19}`)
	st.expect(t, "a: 19")
	st.credit(`{"reader":"new","resume":1}`)
	st.expect(t, "new: restarted next 18, new: 18, new: 19")
	st.credit(`{"reader":"back","resume":20}`)
	st.expect(t, "")
}

func TestAChunkThatCannotBeCarried(t *testing.T) {
	t.Parallel()
	st := newStory(Start{})
	st.credit(`{"reader":"a","resume":1}`)
	st.write(1)
	st.heard()
	st.note(st.s.Skip(st.now))
	st.expect(t, "a: gap from 2 to 2")
	if !st.write(10) || st.s.Last() != 12 {
		t.Error("it goes on without the reader")
	}
	st.heard()
	st.credit(`{"reader":"b","resume":2}`)
	st.expect(t, "b: gap from 2 to 4")
}

func TestTheEndTellsReadersOfAnAttemptThatHadNoChunks(t *testing.T) {
	t.Parallel()
	st := newStory(Start{Attempt: 2, Restarts: 1})
	st.credit(`{"reader":"a","resume":5}`)
	st.note(st.s.End(st.now))
	st.expect(t, "all: restarted, all: restarted next 5")
	if st.s.Last() != 0 {
		t.Errorf("last is %d", st.s.Last())
	}
}

func TestReadersAreBounded(t *testing.T) {
	t.Parallel()
	st := newStory(Start{})
	for i := range 2 * maxReaders {
		st.credit(fmt.Sprintf(`{"reader":"r%d","resume":1}`, i))
	}
	if len(st.s.readers) != maxReaders {
		t.Errorf("%d readers", len(st.s.readers))
	}
}
