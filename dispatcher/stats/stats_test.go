package stats_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/stats"
	"github.com/agentreach/agent-reach/schemas"
)

var start = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// after is a moment so long after the start.
func after(d time.Duration) time.Time { return start.Add(d) }

// with notes results of one agent, one a second.
func with(results ...stats.Result) *stats.Series {
	s := stats.New()
	for i, r := range results {
		r.At = after(time.Duration(i) * time.Second)
		s.Ended("agent", "echo", r)
	}
	return s.Of("agent", "echo")
}

func good(n int, took time.Duration) []stats.Result {
	return slices.Repeat([]stats.Result{{OK: true, Took: took}}, n)
}

func bad(n int) []stats.Result { return make([]stats.Result, n) }

func TestSuccessIsThatOfTheLastResultsThatAreNotOld(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		results []stats.Result
		at      time.Duration
		ok, of  int
	}{
		{"nothing has ended", nil, 0, 0, 0},
		{"three of four", slices.Concat(good(2, 0), bad(1), good(1, 0)), time.Minute, 3, 4},
		{"the last hundred", slices.Concat(bad(50), good(100, 0)), 3 * time.Minute, 100, 100},
		{"the last hundred, some of them bad", slices.Concat(good(90, 0), bad(30), good(10, 0)), 3 * time.Minute, 70, 100},
		{"those of the first second are a quarter of an hour old", good(3, 0), 15 * time.Minute, 3, 3},
		{"and then too old", good(3, 0), 15*time.Minute + time.Millisecond, 2, 2},
		{"bad ones grow old as well", slices.Concat(bad(2), good(2, 0)), 15*time.Minute + 2*time.Second, 2, 2},
		{"all are old", good(100, 0), time.Hour, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if ok, of := with(tt.results...).Success(after(tt.at)); ok != tt.ok || of != tt.of {
				t.Errorf("got %d of %d, want %d of %d", ok, of, tt.ok, tt.of)
			}
		})
	}
}

func TestSuccessIsThatOfTheLastResultsAsAProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, now := stats.New(), start
		var all []stats.Result
		for range rapid.IntRange(0, 400).Draw(t, "results") {
			now = now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "seconds")) * time.Second)
			r := stats.Result{At: now, OK: rapid.Bool().Draw(t, "ok")}
			all = append(all, r)
			s.Ended("agent", "echo", r)
			ok, of := 0, 0
			for _, r := range all[max(0, len(all)-stats.MaxResults):] {
				if now.Sub(r.At) <= stats.MaxAge {
					of++
					if r.OK {
						ok++
					}
				}
			}
			if gotOK, gotOf := s.Of("agent", "echo").Success(now); gotOK != ok || gotOf != of {
				t.Fatalf("got %d of %d, want %d of %d", gotOK, gotOf, ok, of)
			}
		}
	})
}

func seconds(n ...int) []stats.Result {
	results := make([]stats.Result, len(n))
	for i := range n {
		results[i] = stats.Result{OK: true, Took: time.Duration(n[i]) * time.Second}
	}
	return results
}

func upTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return numbers
}

func TestQuantilesAreThoseOfTheGoodResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		results  []stats.Result
		p50, p95 time.Duration
	}{
		{"nothing has ended", nil, 0, 0},
		{"one result is every quantile", seconds(7), 7 * time.Second, 7 * time.Second},
		{"of an even number the lower median", seconds(4, 1, 3, 2), 2 * time.Second, 4 * time.Second},
		{"of twenty", seconds(upTo(20)...), 10 * time.Second, 19 * time.Second},
		{"of a hundred", seconds(upTo(100)...), 50 * time.Second, 95 * time.Second},
		{"of the last hundred", seconds(upTo(150)...), 100 * time.Second, 145 * time.Second},
		{"failures have no time", slices.Concat(seconds(1, 2, 3), []stats.Result{{Took: time.Hour}}), 2 * time.Second, 3 * time.Second},
		{
			"unknown times do not count", slices.Concat(seconds(1, 2, 3), []stats.Result{{OK: true, Took: -1}}),
			2 * time.Second, 3 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := with(tt.results...)
			if p50, p95 := s.Quantile(.5), s.Quantile(.95); p50 != tt.p50 || p95 != tt.p95 {
				t.Errorf("got %s and %s, want %s and %s", p50, p95, tt.p50, tt.p95)
			}
			if low, high := s.Quantile(0), s.Quantile(1); low > tt.p50 || high < tt.p95 {
				t.Errorf("the least is %s, the most %s", low, high)
			}
		})
	}
}

func TestAQuantileIsSeenAtOnceAfterEachResult(t *testing.T) {
	t.Parallel()
	s := stats.New()
	for n := range 3 {
		s.Ended("agent", "echo", stats.Result{At: start, OK: true, Took: time.Duration(n+1) * time.Second})
		if got := s.Of("agent", "echo").Quantile(1); got != time.Duration(n+1)*time.Second {
			t.Errorf("after %d results the most is %s", n+1, got)
		}
	}
}

func TestATimeoutIsTheAgentsOwnOnceEnoughIsKnownWithinBounds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		results  []stats.Result
		declared time.Duration
		want     time.Duration
	}{
		{"nothing has ended", nil, 10 * time.Second, 10 * time.Second},
		{"nineteen tell too little", good(19, time.Second), 10 * time.Second, 10 * time.Second},
		{"failures tell nothing", slices.Concat(good(19, time.Second), bad(20)), 10 * time.Second, 10 * time.Second},
		{"twenty are enough", seconds(upTo(20)...), 10 * time.Second, 19 * time.Second},
		{"never less than half", good(20, time.Second), 10 * time.Second, 5 * time.Second},
		{"never more than four times", good(20, time.Hour), 10 * time.Second, 40 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := with(tt.results...).Timeout(tt.declared); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheMeanFollowsTheNewestTasks(t *testing.T) {
	t.Parallel()
	s := stats.New()
	if mean, known := s.Mean("agent", "echo"); known {
		t.Errorf("a mean of %s is known of nothing", mean)
	}
	s.Ended("agent", "echo", stats.Result{At: start, OK: true})
	if mean, known := s.Mean("agent", "echo"); mean != 0 || !known {
		t.Errorf("after a task that took no time: %s (%v)", mean, known)
	}
	for range 50 {
		s.Ended("agent", "echo", stats.Result{At: start, OK: true, Took: time.Second})
		s.Ended("agent", "echo", stats.Result{At: start, Took: time.Hour})
	}
	if mean, _ := s.Mean("agent", "echo"); mean < 990*time.Millisecond || mean > time.Second {
		t.Errorf("after many tasks of a second the mean is %s", mean)
	}
}

func TestAStragglerSaysLittleOfTheMean(t *testing.T) {
	t.Parallel()
	s := stats.New()
	ran := func(n int, took time.Duration) time.Duration {
		for range n {
			s.Ended("agent", "echo", stats.Result{At: start, OK: true, Took: took})
		}
		mean, _ := s.Mean("agent", "echo")
		return mean
	}
	ran(10, 10*time.Millisecond)
	if mean := ran(1, time.Minute); mean > 20*time.Millisecond {
		t.Errorf("after one that took a minute the mean is %v", mean)
	}
	if mean := ran(30, time.Minute); mean < 55*time.Second {
		t.Errorf("after many that took a minute the mean is %v", mean)
	}
}

func TestANewVersionBeginsAnew(t *testing.T) {
	t.Parallel()
	s := stats.New()
	s.Ended("agent", "echo", stats.Result{At: start, Version: "1.0.0"})
	s.Ended("agent", "echo", stats.Result{At: start}) // the version is as before
	if ok, of := s.Of("agent", "echo").Success(start); ok != 0 || of != 2 {
		t.Errorf("of version 1: %d of %d", ok, of)
	}
	s.Ended("agent", "echo", stats.Result{At: start, Version: "2.0.0", OK: true, Took: time.Second})
	series := s.Of("agent", "echo")
	if ok, of := series.Success(start); ok != 1 || of != 1 || series.Version() != "2.0.0" {
		t.Errorf("of version %s: %d of %d", series.Version(), ok, of)
	}
}

func TestAgentsAndCapabilitiesAreKeptApartAndForgotten(t *testing.T) {
	t.Parallel()
	s := stats.New()
	keys := []stats.Key{{AgentID: "a", Capability: "sums"}, {AgentID: "a", Capability: "words"}, {AgentID: "b", Capability: "sums"}}
	for _, key := range keys {
		s.Ended(key.AgentID, key.Capability, stats.Result{At: start, OK: key.AgentID == "a"})
	}
	if ok, _ := s.Of("b", "sums").Success(start); ok != 0 {
		t.Error("the success of a is counted as that of b")
	}
	s.Forget("a")
	left := make(map[stats.Key]bool)
	for key := range s.All() {
		left[key] = true
	}
	if len(left) != 1 || !left[stats.Key{AgentID: "b", Capability: "sums"}] || s.Of("a", "sums") != nil {
		t.Errorf("left are %v", left)
	}
	if version := s.Of("a", "sums").Version(); version != "" {
		t.Errorf("of nothing a version %s is known", version)
	}
}

func TestWhatTheEndOfATaskSaysOfItsAgent(t *testing.T) {
	t.Parallel()
	failed := func(code schemas.Code, reason string) schemas.Task {
		return schemas.Task{AgentID: "agent", State: schemas.StateFailed, Error: schemas.NewError(code, reason, "")}
	}
	done := func(begun, ended time.Time) schemas.Task {
		return schemas.Task{AgentID: "agent", State: schemas.StateCompleted, StartedAt: schemas.At(begun), FinishedAt: schemas.At(ended)}
	}
	tests := []struct {
		name       string
		task       schemas.Task
		counts, ok bool
		took       time.Duration
	}{
		{"it did well", done(start, after(time.Second)), true, true, time.Second},
		{"it did well, nobody knows how fast", done(time.Time{}, start), true, true, -1},
		{"clocks that disagree make no time negative", done(after(time.Second), start), true, true, 0},
		{"it failed", failed(schemas.Internal, ""), true, false, -1},
		{"it failed without a word", schemas.Task{AgentID: "agent", State: schemas.StateFailed}, true, false, -1},
		{"it was too slow", failed(schemas.DeadlineExceeded, schemas.ReasonRunLimit), true, false, -1},
		{"it could not be reached", failed(schemas.Unavailable, schemas.ReasonCannotConnect), true, false, -1},
		{"the input was bad", failed(schemas.InvalidArgument, ""), false, false, -1},
		{"the input was too large", failed(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge), false, false, -1},
		{"the task was canceled", schemas.Task{AgentID: "agent", State: schemas.StateCanceled}, false, false, -1},
		{"the task was rejected", schemas.Task{AgentID: "agent", State: schemas.StateRejected}, false, false, -1},
		{"the task never had an agent", schemas.Task{State: schemas.StateFailed}, false, false, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, counts := stats.ResultOf(&tt.task)
			if counts != tt.counts || counts && (r.OK != tt.ok || r.Took != tt.took) {
				t.Errorf("got %+v (counts: %v), want ok %v after %s (counts: %v)", r, counts, tt.ok, tt.took, tt.counts)
			}
		})
	}
}

func BenchmarkEndedAndAsked(b *testing.B) {
	s := stats.New()
	b.ReportAllocs()
	for n := range b.N {
		now := after(time.Duration(n) * time.Millisecond)
		s.Ended("agent", "echo", stats.Result{At: now, OK: n%7 > 0, Took: time.Duration(n*7919%1000) * time.Millisecond})
		series := s.Of("agent", "echo")
		series.Success(now)
		series.Quantile(.5)
	}
}

func Example() {
	s := stats.New()
	for n := range 20 {
		s.Ended("laptop-1", "summarize", stats.Result{At: start, OK: true, Took: time.Duration(n+1) * time.Second})
	}
	s.Ended("laptop-1", "summarize", stats.Result{At: start})
	series := s.Of("laptop-1", "summarize")
	ok, of := series.Success(start)
	fmt.Println(ok, "of", of, "half of them within", series.Quantile(.5), "nearly all within", series.Timeout(30*time.Second))
	// Output:
	// 20 of 21 half of them within 10s nearly all within 19s
}
