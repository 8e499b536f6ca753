package health_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/health"
)

var start = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

func newProber(seed uint64) *health.Prober {
	return health.New(health.Config{}, rand.New(rand.NewPCG(seed, 0)))
}

// probe is one probe that was sent, and when.
type probe struct {
	agent string
	at    time.Duration
}

// watch runs a prober, a look a second, and lets passes say how each probe ends.
func watch(p *health.Prober, from, to time.Duration, passes func(probe) bool) []probe {
	var sent []probe
	for at := from; at < to; at += time.Second {
		now := start.Add(at)
		for {
			agent, found := p.Next(now)
			if !found {
				break
			}
			sent = append(sent, probe{agent, at})
			if passes(probe{agent, at}) {
				p.Passed(agent, now)
			} else {
				p.Failed(agent, now)
			}
		}
	}
	return sent
}

func always(probe) bool { return true }

func TestEachAgentIsProbedWithinItsTimeAndNoneInABurst(t *testing.T) {
	t.Parallel()
	for _, agents := range []int{1, 5, 200} {
		p := newProber(uint64(agents))
		for n := range agents {
			p.Join(fmt.Sprint("agent-", n), start)
		}
		last, perMinute := make(map[string]time.Duration), make(map[time.Duration]int)
		for _, sent := range watch(p, 0, time.Hour, always) {
			if gap := sent.at - last[sent.agent]; gap > 10*time.Minute+time.Second {
				t.Fatalf("of %d agents, %s was not probed for %s", agents, sent.agent, gap)
			}
			last[sent.agent] = sent.at
			perMinute[sent.at.Truncate(time.Minute)]++
		}
		if len(last) != agents {
			t.Errorf("only %d of %d agents were probed", len(last), agents)
		}
		for minute, count := range perMinute {
			if bound := 2*agents/10 + 12; count > bound {
				t.Errorf("of %d agents, %d were probed in minute %s: more than %d", agents, count, minute, bound)
			}
		}
	}
}

func TestEveryHalfMinuteARandomAgentIsProbed(t *testing.T) {
	t.Parallel()
	p := newProber(1)
	counts := make(map[string]int)
	for n := range 4 {
		p.Join(fmt.Sprint("agent-", n), start)
	}
	sent := watch(p, 0, 100*time.Minute, always)
	for _, s := range sent {
		counts[s.agent]++
	}
	if len(sent) < 199 || len(sent) > 215 { // 199 at random, and the few that were not drawn for ten minutes
		t.Errorf("%d probes in 100 minutes", len(sent))
	}
	for agent, count := range counts {
		if count < 30 || count > 70 {
			t.Errorf("%s was probed %d times of %d", agent, count, len(sent))
		}
	}
}

func TestAFailureIsRepeatedSoonThreeMakeAnAgentDegradedAndOneSuccessBringsItBack(t *testing.T) {
	t.Parallel()
	p := newProber(2)
	p.Join("agent", start)
	var ill []time.Duration
	failing := func(s probe) bool {
		ill = append(ill, s.at)
		return false
	}
	watch(p, 0, 15*time.Minute, failing)
	if len(ill) < 5 {
		t.Fatalf("only %d probes", len(ill))
	}
	var gaps []time.Duration
	for n := range 4 {
		gaps = append(gaps, ill[n+1]-ill[n])
	}
	if diff := cmp.Diff([]time.Duration{5 * time.Second, 5 * time.Second, 30 * time.Second, 30 * time.Second}, gaps); diff != "" {
		t.Errorf("the times between the probes of an agent that is ill:\n%s", diff)
	}
	if !p.Degraded("agent") {
		t.Error("it is not degraded")
	}
	if !p.Passed("agent", start.Add(15*time.Minute)) || p.Degraded("agent") {
		t.Error("a success does not bring it back")
	}
	if p.Passed("agent", start.Add(15*time.Minute)) {
		t.Error("it was back already")
	}
}

func TestOnlyTheThirdFailureInARowDegrades(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		outcomes string // x failed, . passed
		want     string // what each outcome changed: d degraded, r recovered, - nothing
	}{
		{"two and a success", "xx.xx.", "------"},
		{"three", "xxx", "--d"},
		{"a fourth changes nothing", "xxxx", "--d-"},
		{"back, and ill again", "xxx.xxx", "--dr--d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProber(3)
			p.Join("agent", start)
			got := ""
			for _, outcome := range tt.outcomes {
				switch {
				case outcome == 'x' && p.Failed("agent", start):
					got += "d"
				case outcome == '.' && p.Passed("agent", start):
					got += "r"
				default:
					got += "-"
				}
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAnAgentIsNotProbedTwiceAtATimeNorForgottenIfNothingIsHeard(t *testing.T) {
	t.Parallel()
	p := newProber(4)
	p.Join("agent", start)
	due := start.Add(10 * time.Minute)
	if _, found := p.Next(due); !found {
		t.Fatal("it is due")
	}
	if agent, found := p.Next(due.Add(29 * time.Second)); found {
		t.Errorf("%s is probed while a probe of it is under way", agent)
	}
	if _, found := p.Next(due.Add(30 * time.Second)); !found {
		t.Error("a probe that nobody tells the outcome of is repeated")
	}
}

func TestAgentsThatLeaveAreForgotten(t *testing.T) {
	t.Parallel()
	p := newProber(5)
	p.Join("agent", start)
	for range 3 {
		p.Failed("agent", start)
	}
	p.Leave("agent")
	p.Leave("nobody")
	if _, found := p.Next(start.Add(time.Hour)); found || p.Degraded("agent") || p.Failed("agent", start) || p.Passed("agent", start) {
		t.Error("it is still there")
	}
	p.Join("agent", start)
	if p.Degraded("agent") {
		t.Error("it comes back as it left")
	}
}

func TestTheSameSeedGivesTheSameProbes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed, agents := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 30).Draw(t, "agents")
		bad := rapid.IntRange(0, 30).Draw(t, "bad")
		run := func() []string {
			p := newProber(seed)
			for n := range agents {
				p.Join(fmt.Sprint("agent-", n), start)
			}
			var sent []string
			passes := func(s probe) bool { return s.agent != fmt.Sprint("agent-", bad) }
			for _, s := range watch(p, 0, 20*time.Minute, passes) {
				sent = append(sent, fmt.Sprint(s))
			}
			return sent
		}
		if diff := cmp.Diff(run(), run()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkNextOf2000(b *testing.B) {
	p := newProber(6)
	for n := range 2000 {
		p.Join(fmt.Sprint("agent-", n), start)
	}
	b.ReportAllocs()
	for n := range b.N {
		now := start.Add(time.Duration(n) * time.Second)
		if agent, found := p.Next(now); found {
			p.Passed(agent, now)
		}
	}
}

func Example() {
	prober := health.New(health.Config{}, rand.New(rand.NewPCG(1, 2)))
	prober.Join("laptop-1", start)
	now := start.Add(10 * time.Minute)
	for !prober.Degraded("laptop-1") {
		if agent, found := prober.Next(now); found {
			fmt.Println(now.Format("15:04:05"), "the probe of", agent, "fails")
			prober.Failed(agent, now)
		}
		now = now.Add(time.Second)
	}
	fmt.Println("back:", prober.Passed("laptop-1", now))
	// Output:
	// 10:10:00 the probe of laptop-1 fails
	// 10:10:05 the probe of laptop-1 fails
	// 10:10:10 the probe of laptop-1 fails
	// back: true
}
