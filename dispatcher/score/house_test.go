package score_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

var start = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// idle is an agent that no filter minds and that does nothing at the moment.
func idle(id string) score.Candidate {
	return score.Candidate{
		AgentID:  id,
		Standing: score.Standing{State: schemas.AgentOnline, Offers: true, Version: semver.MustParse("1.0.0")},
		Load:     score.Load{Slots: 1, Heard: start},
	}
}

// with is an idle agent with a change.
func with(id string, change func(*score.Candidate)) score.Candidate {
	c := idle(id)
	change(&c)
	return c
}

func alike(n int) []score.Candidate {
	candidates := make([]score.Candidate, n)
	for i := range candidates {
		candidates[i] = idle(fmt.Sprintf("agent-%03d", i))
	}
	return candidates
}

func different(n int) []score.Candidate {
	random := rand.New(rand.NewPCG(1, 2))
	candidates := alike(n)
	for i := range candidates {
		c := &candidates[i]
		cost := random.Float64() * 10
		c.Version = semver.New(1, random.Uint64N(3), random.Uint64N(9), "", "")
		c.Average, c.Slots, c.InFlight = random.Float64()*2, 4, random.IntN(6)
		c.Results = random.IntN(101)
		c.Successes = random.IntN(c.Results + 1)
		c.Median, c.Hint = time.Duration(random.IntN(20))*time.Second, 20*time.Second
		c.Weight = &cost
		c.Groups = []string{"lab"}
	}
	return candidates
}

func ids(ranked []score.Ranked) []string {
	ids := make([]string, len(ranked))
	for i, r := range ranked {
		ids[i] = r.AgentID
	}
	return ids
}

func pointer[T any](v T) *T { return &v }
