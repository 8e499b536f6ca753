package score_test

import (
	"fmt"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

func Example() {
	online := score.Standing{State: schemas.AgentOnline, Offers: true}
	agents := []score.Candidate{
		{AgentID: "server", Standing: online, Load: score.Load{Slots: 2, InFlight: 2, Average: 1.5}},
		{AgentID: "laptop", Standing: online, Load: score.Load{Slots: 2, InFlight: 1, Average: .2}},
		{AgentID: "phone", Standing: score.Standing{State: schemas.AgentOffline, Offers: true}},
	}
	var candidates []score.Candidate
	for i := range agents {
		if why, may := score.Filter(&agents[i], &score.Want{}); may {
			candidates = append(candidates, agents[i])
		} else {
			fmt.Println("not", agents[i].AgentID+":", why)
		}
	}
	choice := score.Choose(3, candidates, score.Request{Key: "task-1"})
	for _, r := range choice.Chain {
		fmt.Printf("%s %.3f current_load %.3f\n", r.AgentID, r.Score, r.Factors()[score.CurrentLoad])
	}
	fmt.Println("the task goes to", choice.Free.AgentID)
	// Output:
	// not phone: offline
	// laptop 0.887 current_load 0.667
	// server 0.860 current_load 0.400
	// the task goes to laptop
}
