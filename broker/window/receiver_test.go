package window

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

// tale is a Receiver, and what it said and gave, told in lines.
type tale struct {
	r    *Receiver
	now  time.Time
	said []string
}

func newTale(after int64) *tale {
	return &tale{r: NewReceiver(Limits{Chunks: 4, Reach: 4}, after, noon), now: noon}
}

func (ta *tale) note(c *schemas.Credit) {
	if c != nil {
		ta.said = append(ta.said, strings.TrimSpace(fmt.Sprintf("ack %d%s", c.Ack, number(" resume ", c.Resume))))
	}
	if c != nil && c.Leave {
		ta.said[len(ta.said)-1] = "leave"
	}
}

func (ta *tale) chunks(attempt int, from, to int64) {
	for n := from; n <= to; n++ {
		ta.note(ta.r.Chunk(&schemas.Chunk{Attempt: attempt, N: n}, 1, false, ta.now))
	}
}

func (ta *tale) mine(attempt int, n int64) {
	ta.note(ta.r.Chunk(&schemas.Chunk{Attempt: attempt, N: n}, 1, true, ta.now))
}

func (ta *tale) notice(n schemas.Notice) { ta.note(ta.r.Notice(&n, true, ta.now)) }

// take takes up to count pieces.
func (ta *tale) take(count int) {
	for range count {
		piece, found, credit, soon := ta.r.Take()
		ta.note(credit)
		switch {
		case piece.Chunk != nil:
			ta.said = append(ta.said, fmt.Sprint(piece.Chunk.N))
		case piece.Notice != nil:
			n := piece.Notice
			ta.said = append(ta.said, n.Notice+number(" next ", n.Next)+number(" from ", n.From)+number(" to ", n.To))
		case soon:
			ta.said = append(ta.said, "soon")
		case !found:
			ta.said = append(ta.said, "nothing")
		}
	}
}

func (ta *tale) expect(t *testing.T, want string) {
	t.Helper()
	got := strings.Join(ta.said, ", ")
	ta.said = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestChunksInOrder(t *testing.T) {
	t.Parallel()
	ta := newTale(0)
	ta.note(ta.r.Join())
	ta.expect(t, "ack 0 resume 1")
	ta.chunks(1, 1, 4)
	ta.take(5)
	ta.expect(t, "1, 2, ack 2, 3, 4, ack 4, nothing")
	ta.chunks(1, 5, 5)
	ta.take(2)
	ta.expect(t, "5, soon")
	ta.note(ta.r.Ack())
	ta.note(ta.r.Ack())
	ta.expect(t, "ack 5")
}

func TestWhatIsRefusedIsAskedForAgain(t *testing.T) {
	t.Parallel()
	ta := newTale(0)
	ta.chunks(1, 1, 2)
	ta.chunks(1, 4, 6)
	ta.expect(t, "ack 0 resume 3")
	ta.chunks(1, 1, 3)
	ta.mine(1, 4)
	ta.chunks(1, 5, 9)
	ta.expect(t, "ack 0 resume 5")
	ta.take(3)
	ta.expect(t, "1, 2, ack 2, 3")
}

func TestAReaderWithoutRoomAsksOnceItHas(t *testing.T) {
	t.Parallel()
	ta := newTale(0)
	ta.chunks(1, 1, 5)
	ta.expect(t, "")
	ta.take(3)
	ta.expect(t, "1, 2, ack 2 resume 5, 3")
}

func TestBeats(t *testing.T) {
	t.Parallel()
	ta := newTale(0)
	beat := func() { ta.note(ta.r.Beat(time.Second, ta.now)) }
	beat()
	ta.expect(t, "ack 0 resume 1")
	ta.chunks(1, 1, 3)
	beat()
	ta.expect(t, "ack 0 resume 4")
	ta.take(2)
	beat()
	ta.expect(t, "1, 2, ack 1")
	ta.take(2)
	ta.now = ta.now.Add(time.Second)
	beat()
	ta.expect(t, "3, ack 3, nothing, ack 3 resume 4")
	beat()
	ta.expect(t, "ack 3 resume 4")
}

func TestAnotherAttemptArrives(t *testing.T) {
	t.Parallel()
	ta := newTale(0)
	ta.chunks(1, 1, 3)
	ta.take(1)
	ta.notice(schemas.Notice{Notice: schemas.NoticeRestarted, Attempt: 2})
	ta.expect(t, "1, ack 0 resume 4")
	ta.chunks(2, 4, 4)
	ta.expect(t, "")
	ta.notice(schemas.Notice{Notice: schemas.NoticeRestarted, Attempt: 2, Next: 4})
	ta.notice(schemas.Notice{Notice: schemas.NoticeRestarted, Attempt: 2, Next: 4})
	ta.chunks(1, 4, 4)
	ta.chunks(2, 4, 5)
	ta.take(4)
	ta.expect(t, "restarted next 4, 4, 5, ack 5, nothing")
}

func TestAReaderThatComesBackToAnotherAttempt(t *testing.T) {
	t.Parallel()
	ta := newTale(17)
	ta.chunks(2, 18, 18)
	ta.expect(t, "ack 17 resume 18")
	ta.mine(2, 18)
	ta.take(1)
	ta.expect(t, "18")
	if ta.r.Attempt() != 2 {
		t.Errorf("attempt %d", ta.r.Attempt())
	}
}

func TestNumbersThatWereGivenOutNeverMeanAnythingElse(t *testing.T) {
	t.Parallel()
	ta := newTale(0)
	ta.chunks(1, 1, 3)
	ta.notice(schemas.Notice{Notice: schemas.NoticeRestarted, Attempt: 2, Next: 2})
	ta.take(5)
	ta.expect(t, "leave, 1, 2, 3, mode_changed, nothing")
}

func TestAReaderThatGetsNoMoreChunks(t *testing.T) {
	t.Parallel()
	for _, notice := range []schemas.Notice{
		{Notice: schemas.NoticeModeChanged, Mode: schemas.ModeAggregate}, {Notice: schemas.NoticeGap, From: 3, To: 9},
	} {
		ta := newTale(0)
		ta.chunks(1, 1, 2)
		ta.notice(notice)
		ta.notice(notice)
		ta.chunks(1, 3, 3)
		ta.note(ta.r.Beat(0, ta.now))
		ta.note(ta.r.Join())
		ta.take(4)
		ta.expect(t, "1, 2, "+notice.Notice+number(" from ", notice.From)+number(" to ", notice.To)+", nothing")
		ta.r.End(20, ta.now)
		if !ta.r.Complete() {
			t.Error("it waits for more")
		}
	}
}

func TestTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		last     int64
		steps    func(ta *tale)
		complete bool
		said     string
	}{
		{"it comes after the last chunk", 3, func(ta *tale) { ta.take(3) }, true, "1, 2, ack 2, 3"},
		{"not before that was taken", 3, func(ta *tale) { ta.take(2) }, false, "1, 2"},
		{"not before that has come", 4, func(ta *tale) { ta.take(3) }, false, "1, 2, ack 2, 3"},
		{"where nobody knows what was last, nothing is waited for", 0, func(ta *tale) { ta.take(3) }, true, "1, 2, ack 2, 3"},
		{
			"what does not come is a gap", 5,
			func(ta *tale) {
				ta.take(3)
				ta.now = ta.now.Add(time.Second)
				ta.r.GiveUp(time.Second, ta.now)
				ta.take(2)
			},
			true, "1, 2, ack 2, 3, gap from 4 to 5, nothing",
		},
		{
			"but it has its time", 5,
			func(ta *tale) { ta.take(3); ta.now = ta.now.Add(time.Second - 1); ta.r.GiveUp(time.Second, ta.now) },
			false, "1, 2, ack 2, 3",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ta := newTale(0)
			ta.chunks(1, 1, 3)
			ta.r.End(tt.last, ta.now)
			tt.steps(ta)
			if ta.r.Complete() != tt.complete {
				t.Errorf("complete: %v", ta.r.Complete())
			}
			ta.expect(t, tt.said)
		})
	}
}
