package stats

import (
	"math"
	"slices"
	"time"
)

// Result is how one task ended.
type Result struct {
	At      time.Time
	Version string        // of the agent; a new one begins the series anew. Empty: as before
	OK      bool          // the agent did what was asked
	Took    time.Duration // how long it was at it; counts only if OK. Below 0: not known
}

// Series is what the last results of an agent say of it. It keeps at most MaxResults of them.
type Series struct {
	version string
	results []outcome // a ring once it is full
	next    int       // where the next result goes, in a full ring

	recent, ok int // the newest results that are not older than MaxAge, and the good ones among them

	times []time.Duration // of the good results, sorted
	stale bool            // times is to be made anew
	mean  time.Duration
	known bool // the mean is
}

// outcome is what is kept of a result.
type outcome struct {
	at   int64 // Unix milliseconds
	took time.Duration
	ok   bool
}

// weight of the newest task in the moving mean, and what it counts as at most: a multiple of the mean, and some time on top. One
// straggler, on a machine that was busy for a moment, says little; several in a row do.
const (
	weight      = 0.2
	mostTimes   = 4
	mostBesides = time.Millisecond
)

func (s *Series) add(r Result) {
	if r.Version != "" && r.Version != s.version {
		*s = Series{version: r.Version}
	}
	if s.recent == MaxResults {
		s.expireOldest()
	}
	kept := outcome{r.At.UnixMilli(), r.Took, r.OK}
	if len(s.results) < MaxResults {
		s.results = append(s.results, kept)
	} else {
		s.results[s.next] = kept
		s.next = (s.next + 1) % MaxResults
	}
	s.recent++
	s.stale = true
	if kept.ok {
		s.ok++
	}
	if kept.timed() {
		s.weigh(kept.took)
	}
}

func (o outcome) timed() bool { return o.ok && o.took >= 0 }

func (s *Series) weigh(took time.Duration) {
	if !s.known {
		s.mean, s.known = took, true
	}
	took = min(took, mostTimes*s.mean+mostBesides)
	s.mean += time.Duration(weight * float64(took-s.mean))
}

// oldest is the first of the recent results.
func (s *Series) oldest() outcome {
	return s.results[(s.next+len(s.results)-s.recent)%len(s.results)]
}

func (s *Series) expireOldest() {
	if s.oldest().ok {
		s.ok--
	}
	s.recent--
}

// Success is how many of the recent results there are, and how many of them were good. Recent are the last MaxResults that are not
// older than MaxAge.
func (s *Series) Success(now time.Time) (ok, of int) {
	if s == nil {
		return 0, 0
	}
	for s.recent > 0 && now.UnixMilli()-s.oldest().at > MaxAge.Milliseconds() {
		s.expireOldest()
	}
	return s.ok, s.recent
}

// Version is the version of the agent that the series is about; empty if nobody has said.
func (s *Series) Version() string {
	if s == nil {
		return ""
	}
	return s.version
}

// Mean is how long a task took recently, an exponentially weighted mean; known is false before the first.
func (s *Series) Mean() (mean time.Duration, known bool) {
	if s == nil {
		return 0, false
	}
	return s.mean, s.known
}

// Quantile is the time within which a share of the last tasks were done, .5 for the median; 0 before the first. An agent that has
// had nothing to do for a while is as fast as it was: unlike its success, its speed does not age.
func (s *Series) Quantile(share float64) time.Duration {
	times := s.sorted()
	if len(times) == 0 {
		return 0
	}
	rank := int(math.Ceil(share * float64(len(times))))
	return times[min(max(rank, 1), len(times))-1]
}

func (s *Series) sorted() []time.Duration {
	if s == nil {
		return nil
	}
	if s.stale {
		s.times, s.stale = s.times[:0], false
		for _, o := range s.results {
			if o.timed() {
				s.times = append(s.times, o.took)
			}
		}
		slices.Sort(s.times)
	}
	return s.times
}

// When a series suggests a timeout of its own.
const (
	enough  = 20 // results that a p95 needs to mean something
	lowest  = .5 // of what was declared
	highest = 4.
)

// Timeout is how long a task should be given where declared is what somebody expects: the time in which 95 of 100 were done,
// within half of that and four times as much; what was declared while too little is known.
func (s *Series) Timeout(declared time.Duration) time.Duration {
	if len(s.sorted()) < enough {
		return declared
	}
	return min(max(s.Quantile(.95), times(declared, lowest)), times(declared, highest))
}

func times(d time.Duration, factor float64) time.Duration { return time.Duration(factor * float64(d)) }
