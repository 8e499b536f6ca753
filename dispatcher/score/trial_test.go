package score_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/dispatcher/stats"
)

// season is a simulation of agents that do not always do well: each has two slots and takes a tenth of a second, tasks come by chance, and
// what becomes of them is what the next ones are ranked by. Time is a number in it.
type season struct {
	agents []*performer
	known  *stats.Stats
	chance *rand.Rand
	now    time.Duration
	tasks  int
}

// performer is an agent, how often it does well, and when its tasks will be done.
type performer struct {
	id    string
	good  float64
	until []time.Duration
}

const (
	errand      = 100 * time.Millisecond
	errandsEach = 2 // at once
)

func newSeason(agents ...*performer) *season {
	return &season{agents: agents, known: stats.New(), chance: rand.New(rand.NewPCG(7, 7))}
}

// passes lets tasks come for a while, half as many as the agents could do, and tells which share of them each agent got.
func (s *season) passes(while time.Duration) map[string]float64 {
	rate := .5 * float64(errandsEach*len(s.agents)) / errand.Seconds()
	given, all := make(map[string]float64), 0.
	for end := s.now + while; s.now < end; s.now += time.Duration(s.chance.ExpFloat64() / rate * float64(time.Second)) {
		s.finish()
		if agent := s.give(); agent != nil {
			given[agent.id]++
			all++
		}
	}
	for id := range given {
		given[id] /= all
	}
	return given
}

func (s *season) finish() {
	for _, agent := range s.agents {
		agent.until = slices.DeleteFunc(agent.until, func(at time.Duration) bool {
			if at > s.now {
				return false
			}
			s.known.Ended(agent.id, "echo", stats.Result{At: start.Add(at), OK: s.chance.Float64() < agent.good, Took: errand})
			return true
		})
	}
}

func (s *season) give() *performer {
	s.tasks++
	candidates := make([]score.Candidate, len(s.agents))
	for i, agent := range s.agents {
		candidates[i] = with(agent.id, func(c *score.Candidate) {
			c.Slots, c.InFlight, c.Median, c.Heard = errandsEach, len(agent.until), errand, start.Add(s.now)
			c.Successes, c.Results = s.known.Of(agent.id, "echo").Success(start.Add(s.now))
		})
	}
	free := score.Choose(3, candidates, score.Request{Key: fmt.Sprint(s.tasks), Now: start.Add(s.now)}).Free
	if free == nil {
		return nil
	}
	agent := s.agents[slices.IndexFunc(s.agents, func(p *performer) bool { return p.id == free.AgentID })]
	agent.until = append(agent.until, s.now+errand)
	return agent
}

func TestAnAgentThatFailsLosesTrafficAndEarnsItBack(t *testing.T) {
	t.Parallel()
	shaky := &performer{id: "shaky", good: 1}
	s := newSeason(&performer{id: "steady", good: 1}, shaky)
	if share := s.passes(time.Minute)["shaky"]; share < .45 || share > .55 {
		t.Errorf("while both do well it gets %.2f of the tasks", share)
	}
	shaky.good = .6
	s.passes(time.Minute)
	if share := s.passes(time.Minute)["shaky"]; share > .35 {
		t.Errorf("at 60 %% it still gets %.2f of the tasks", share)
	}
	shaky.good = 1
	s.passes(time.Minute)
	if share := s.passes(time.Minute)["shaky"]; share < .45 || share > .55 {
		t.Errorf("once it does well again it gets %.2f of the tasks", share)
	}
}

func TestANewcomerIsTriedAndSoonHasItsShare(t *testing.T) {
	t.Parallel()
	s := newSeason(&performer{id: "veteran", good: 1})
	s.passes(time.Minute)
	s.agents = append(s.agents, &performer{id: "newcomer", good: 1})
	s.passes(30 * time.Second)
	if share := s.passes(time.Minute)["newcomer"]; share < .45 || share > .55 {
		t.Errorf("after half a minute it gets %.2f of the tasks", share)
	}
	newcomer, fallen := idle("newcomer"), with("fallen", func(c *score.Candidate) { c.Results, c.Successes = 100, 60 })
	if got := ids(score.Rank([]score.Candidate{fallen, newcomer}, score.Request{Now: start})); got[0] != "newcomer" {
		t.Errorf("one without a past goes behind one at 60 %%: %v", got)
	}
}
