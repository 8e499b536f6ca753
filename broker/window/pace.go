package window

import "time"

// pace is how fast an agent makes chunks, counting only the time in which the window did not block it.
type pace struct {
	made      int64
	since     time.Time
	blocked   time.Duration
	blockedAt time.Time // zero while it is not blocked
}

func (p *pace) block(now time.Time) {
	if p.blockedAt.IsZero() {
		p.blockedAt = now
	}
}

func (p *pace) unblock(now time.Time) {
	if !p.blockedAt.IsZero() {
		p.blocked += now.Sub(p.blockedAt)
		p.blockedAt = time.Time{}
	}
}

// free is how long the agent was not blocked.
func (p *pace) free(now time.Time) time.Duration {
	free := now.Sub(p.since) - p.blocked
	if !p.blockedAt.IsZero() {
		free -= now.Sub(p.blockedAt)
	}
	return free
}

// mark is where agent and reader stood when a reader's rate began to be measured.
type mark struct {
	at    time.Time
	made  int64
	free  time.Duration
	acked int64
}

func (p *pace) mark(acked int64, now time.Time) mark {
	return mark{at: now, made: p.made, free: p.free(now), acked: acked}
}

// judgement is what is thought of a reader's rate.
type judgement int

const (
	tooEarly judgement = iota // to say
	fastEnough
	tooSlow
)

// judge compares a reader's rate with that of the agent since the mark.
func (p *pace) judge(m mark, acked int64, l Limits, now time.Time) judgement {
	elapsed, made := now.Sub(m.at), p.made-m.made
	if elapsed < l.Span || made < l.SpanChunks {
		return tooEarly
	}
	free := max(p.free(now)-m.free, time.Microsecond)
	agent := float64(made) / free.Seconds()
	if float64(acked-m.acked)/elapsed.Seconds() < l.Share*agent {
		return tooSlow
	}
	return fastEnough
}
