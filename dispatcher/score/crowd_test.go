package score_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/score"
)

// crowd is a simulation of agents of which each takes as long as it takes, and of tasks that come by chance. Time is a number in it.
type crowd struct {
	agents  []worker
	events  moments
	waiting []time.Duration // when the tasks came that no agent had room for
	choose  func(candidates []score.Candidate, turn uint64) *score.Ranked
	took    []time.Duration
	turn    uint64
}

// worker is an agent with what it has been given: the moments at which its tasks came.
type worker struct {
	id    string
	takes time.Duration
	slots int
	busy  int
	line  []time.Duration
}

// moment is when something happens: a task comes, or an agent is done with one.
type moment struct {
	at, came time.Duration
	agent    int // below 0: a task comes
}

type moments []moment

func (m moments) Len() int           { return len(m) }
func (m moments) Less(i, j int) bool { return m[i].at < m[j].at }
func (m moments) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)        { *m = append(*m, x.(moment)) }
func (m *moments) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// uneven are ten agents of 20 to 200 ms, four tasks at a time.
func uneven() []worker {
	agents := make([]worker, 10)
	for i := range agents {
		agents[i] = worker{id: fmt.Sprint("agent-", i), takes: time.Duration(i+1) * 20 * time.Millisecond, slots: 4}
	}
	return agents
}

// run lets tasks come at a share of what all agents can do, and tells how long each took, in order.
func (c *crowd) run(share float64, lasts time.Duration, seed uint64) []time.Duration {
	rate := 0.0
	for _, a := range c.agents {
		rate += share * float64(a.slots) / a.takes.Seconds()
	}
	chance := rand.New(rand.NewPCG(seed, 1))
	for at := time.Duration(0); at < lasts; at += time.Duration(chance.ExpFloat64() / rate * float64(time.Second)) {
		c.events = append(c.events, moment{at: at, came: at, agent: -1})
	}
	heap.Init(&c.events)
	for len(c.events) > 0 {
		m := heap.Pop(&c.events).(moment)
		if m.agent < 0 {
			c.comes(m.at)
		} else {
			c.done(m)
		}
	}
	slices.Sort(c.took)
	return c.took
}

func (c *crowd) comes(at time.Duration) {
	c.turn++
	free := c.choose(c.candidates(), c.turn)
	if free == nil || len(c.waiting) > 0 {
		c.waiting = append(c.waiting, at)
		return
	}
	i := slices.IndexFunc(c.agents, func(a worker) bool { return a.id == free.AgentID })
	c.give(i, at, at)
}

func (c *crowd) give(agent int, came, now time.Duration) {
	a := &c.agents[agent]
	if a.busy < a.slots {
		a.busy++
		heap.Push(&c.events, moment{at: now + a.takes, came: came, agent: agent})
		return
	}
	a.line = append(a.line, came)
}

func (c *crowd) done(m moment) {
	a := &c.agents[m.agent]
	c.took = append(c.took, m.at-m.came)
	a.busy--
	if len(a.line) > 0 {
		next := a.line[0]
		a.line = a.line[1:]
		c.give(m.agent, next, m.at)
	}
	for len(c.waiting) > 0 && a.busy+len(a.line) < a.slots+a.excess() {
		next := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.give(m.agent, next, m.at)
	}
}

// excess is as many as would wait for less than 100 ms.
func (a *worker) excess() int { return int(100 * time.Millisecond * time.Duration(a.slots) / a.takes) }

var online = idle("").Standing

func (c *crowd) candidates() []score.Candidate {
	candidates := make([]score.Candidate, len(c.agents))
	for i, a := range c.agents {
		candidates[i] = score.Candidate{
			AgentID: a.id, Standing: online,
			Load:    score.Load{Slots: a.slots, InFlight: a.busy + len(a.line), Excess: a.excess(), Heard: start},
			History: score.History{Median: a.takes, Successes: 100, Results: 100},
		}
	}
	return candidates
}

// took is the time within which a share of the tasks of a minute at 70 % were done.
func took(r score.Request) func(share float64) time.Duration {
	c := &crowd{agents: uneven(), choose: func(candidates []score.Candidate, turn uint64) *score.Ranked {
		r.Now, r.Turn, r.Key = start, turn, strconv.FormatUint(turn, 10)
		return score.Choose(3, candidates, r).Free
	}}
	all := c.run(.7, time.Minute, 1)
	return func(share float64) time.Duration { return all[int(share*float64(len(all)))] }
}

func TestAmongUnevenAgentsTheScoreIsFasterThanTakingTurns(t *testing.T) {
	t.Parallel()
	turns := took(score.Request{Strategy: score.RoundRobin})
	for _, tt := range []struct {
		name    string
		weights score.Weights
	}{
		{"by the usual weights", score.Weights{}},
		{"by speed alone", score.Weights{score.Latency: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			scored := took(score.Request{Weights: tt.weights})
			for _, share := range []float64{.5, .99} {
				if ratio := scored(share).Seconds() / turns(share).Seconds(); ratio > .8 {
					t.Errorf("%v of all tasks were done within %v, in turn within %v: %.2f", share, scored(share), turns(share), ratio)
				}
			}
		})
	}
}
