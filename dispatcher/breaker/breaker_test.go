package breaker_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/breaker"
)

var start = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// at is a moment so many seconds after the start.
func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// event is one thing that happens to a breaker: "." a success, "x" a failure, ">" a task is sent.
func after(b breaker.Breaker, event rune, now time.Time) breaker.Breaker {
	switch event {
	case '.':
		return b.Succeeded(now)
	case 'x':
		return b.Failed(now)
	case '>':
		return b.Sent(now)
	}
	return b
}

func all(b breaker.Breaker, events string, now time.Time) breaker.Breaker {
	for _, event := range events {
		b = after(b, event, now)
	}
	return b
}

func TestWhatOpensABreaker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		events string
		want   breaker.State
	}{
		{"nothing has happened", "", breaker.Closed},
		{"four failures in a row do not", "xxxx", breaker.Closed},
		{"five do", "xxxxx", breaker.Open},
		{"five do, whatever was before", "....................xxxxx", breaker.Open},
		{"a success between them begins the row anew", "xxxx.xxxx", breaker.Closed},
		{"a success never does", "x.x.x.x.x.", breaker.Closed},
		{"half of ten", "x.x.x.x..x", breaker.Open},
		{"half of nine is too few to tell", "x.x.x.x.x", breaker.Closed},
		{"successes before the first failure do not count", "..........x.x.x.x..x", breaker.Open},
		{"a third is not half", "..x..x..x..x..x..x", breaker.Closed},
		{"only the last twenty count", ".x.x.x.x............................x", breaker.Closed},
		{"a task that is sent means nothing", ">>>>>>>>>>", breaker.Closed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := all(breaker.Breaker{}, tt.events, start).State(start); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A story is what happens to one breaker, second by second.
type step struct {
	at     float64
	events string
	state  breaker.State
	allows bool
}

func TestStoriesOfBreakers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps []step
	}{
		{"a trial that succeeds closes it", []step{
			{0, "xxxxx", breaker.Open, false},
			{4.9, "", breaker.Open, false},
			{5, "", breaker.HalfOpen, true},
			{5, ">", breaker.HalfOpen, false},
			{6, ".", breaker.Closed, true},
			{6, "xxxx", breaker.Closed, true},
		}},
		{"each trial that fails doubles the time, up to a minute", []step{
			{0, "xxxxx", breaker.Open, false},
			{5, ">x", breaker.Open, false},
			{14.9, "", breaker.Open, false},
			{15, ">x", breaker.Open, false},
			{35, ">x", breaker.Open, false},
			{75, ">x", breaker.Open, false},
			{134.9, "", breaker.Open, false},
			{135, ">x", breaker.Open, false},
			{194.9, "", breaker.Open, false},
			{195, ">.", breaker.Closed, true},
			{195, "xxxxx", breaker.Open, false},
			{200, "", breaker.HalfOpen, true},
		}},
		{"what was sent before it opened changes nothing", []step{
			{0, "xxxxx", breaker.Open, false},
			{1, "xxx", breaker.Open, false},
			{2, ".", breaker.Open, false},
			{5, "x", breaker.HalfOpen, true},
			{6, ">", breaker.HalfOpen, false},
		}},
		{"a success that somebody else had closes it too", []step{
			{0, "xxxxx", breaker.Open, false},
			{5, ".", breaker.Closed, true},
		}},
		{"only one task is the trial", []step{
			{0, "xxxxx", breaker.Open, false},
			{5, ">", breaker.HalfOpen, false},
			{50, ">", breaker.HalfOpen, false},
			{64.9, "", breaker.HalfOpen, false},
			{65, "", breaker.HalfOpen, true}, // nothing was heard of it
			{65, ">x", breaker.Open, false},
		}},
		{"failures before a long silence do not count", []step{
			{0, "xxxx", breaker.Closed, true},
			{60, "", breaker.Closed, true},
			{61, "xxxx", breaker.Closed, true},
			{62, "x", breaker.Open, false},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b breaker.Breaker
			for _, s := range tt.steps {
				b = all(b, s.events, at(s.at))
				if state, allows := b.State(at(s.at)), b.Allows(at(s.at)); state != s.state || allows != s.allows {
					t.Fatalf("after %.1f s it is %s (allows: %v), want %s (%v)", s.at, state, allows, s.state, s.allows)
				}
			}
		})
	}
}

func TestNoBreakerStaysOpenForEver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b breaker.Breaker
		now := start
		for range rapid.IntRange(0, 100).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
			b = after(b, rapid.SampledFrom([]rune(".xxx>")).Draw(t, "event"), now)
		}
		now = now.Add(max(breaker.LongestOpen, breaker.TrialTime))
		if !b.Allows(now) {
			t.Fatal("it lets nothing through, however long nothing fails")
		}
		if got := b.Sent(now).Succeeded(now).State(now); got != breaker.Closed {
			t.Fatalf("a success leaves it %s", got)
		}
	})
}

func TestBreakersAreKeptApartAndOnlyWhereTheyKnowOfAFailure(t *testing.T) {
	t.Parallel()
	b := breaker.New(0)
	sums, words := breaker.Key{AgentID: "a", Capability: "sums"}, breaker.Key{AgentID: "a", Capability: "words"}
	b.Succeeded(words, start)
	b.Sent(words, start)
	if b.Len() != 0 {
		t.Errorf("%d breakers are kept for successes", b.Len())
	}
	for n := range breaker.InARow {
		if opened := b.Failed(sums, start); opened != (n == breaker.InARow-1) {
			t.Errorf("failure %d: opened %v", n+1, opened)
		}
	}
	if b.Failed(sums, start) {
		t.Error("it is open already")
	}
	if b.Allows(sums, start) || !b.Allows(words, start) {
		t.Errorf("sums is %s, words is %s", b.State(sums, start), b.State(words, start))
	}
	b.Sent(sums, at(5))
	if b.Allows(sums, at(5)) {
		t.Error("the trial was not noted")
	}
	if !b.Succeeded(sums, at(6)) || b.Len() != 0 {
		t.Errorf("a trial that succeeds closes the breaker, and %d are kept", b.Len())
	}
	b.Failed(sums, start)
	b.Failed(words, start)
	b.Failed(breaker.Key{AgentID: "b", Capability: "sums"}, start)
	if b.Forget("a"); b.Len() != 1 {
		t.Errorf("%d breakers are left of the other agent's one", b.Len())
	}
}

func TestBreakersAreBoundedAndTheQuietestGoes(t *testing.T) {
	t.Parallel()
	b := breaker.New(3)
	key := func(n int) breaker.Key { return breaker.Key{AgentID: fmt.Sprint("agent-", n), Capability: "sums"} }
	for n := range 3 {
		for range breaker.InARow {
			b.Failed(key(n), at(float64(n)))
		}
	}
	b.Sent(key(0), at(5)) // it is heard of again: now the second is the quietest
	b.Failed(key(3), at(6))
	if b.Len() != 3 {
		t.Fatalf("%d breakers are kept of at most 3", b.Len())
	}
	for n, want := range []breaker.State{breaker.HalfOpen, breaker.Closed, breaker.Open, breaker.Closed} {
		if got := b.State(key(n), at(6)); got != want {
			t.Errorf("agent-%d is %s, want %s", n, got, want)
		}
	}
}

func BenchmarkBreakers(b *testing.B) {
	breakers := breaker.New(0)
	bad, good := breaker.Key{AgentID: "bad", Capability: "sums"}, breaker.Key{AgentID: "good", Capability: "sums"}
	b.ReportAllocs()
	for n := range b.N {
		now := start.Add(time.Duration(n) * time.Millisecond)
		breakers.Allows(good, now)
		breakers.Succeeded(good, now)
		breakers.Failed(bad, now)
	}
}

func Example() {
	breakers := breaker.New(1000)
	key := breaker.Key{AgentID: "laptop-1", Capability: "summarize"}
	for range breaker.InARow {
		breakers.Failed(key, start)
	}
	fmt.Println(breakers.Allows(key, start), breakers.State(key, start))
	fmt.Println(breakers.Allows(key, at(5)), breakers.State(key, at(5)))
	breakers.Sent(key, at(5))
	breakers.Succeeded(key, at(6))
	fmt.Println(breakers.Allows(key, at(6)), breakers.State(key, at(6)))
	// Output:
	// false open
	// true half_open
	// true closed
}
