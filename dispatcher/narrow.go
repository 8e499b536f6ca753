package dispatcher

import (
	"fmt"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// narrow is what an agent accepts and answers of a capability, beside the dictionary's contract, and in its own words. Nil schemas
// narrow nothing.
type narrow struct {
	input, output *contract.Schema
	words         *align.Pair
}

// narrowed compiles the schemas that an agent has declared, by capability. The registry holds only what compiled once; what does
// not any more narrows nothing, and is told.
func narrowed(r *schemas.Registration) (map[string]narrow, error) {
	var problem error
	all := make(map[string]narrow)
	for _, offer := range r.Capabilities {
		input, err := compiled(offer.InputSchema)
		if err != nil {
			problem = fmt.Errorf("input schema of %s: %w", offer.ID, err)
		}
		output, err := compiled(offer.OutputSchema)
		if err != nil {
			problem = fmt.Errorf("output schema of %s: %w", offer.ID, err)
		}
		if input != nil || output != nil {
			all[offer.ID] = narrow{input, output, align.New(offer.Alignment)}
		}
	}
	return all, problem
}

func compiled(raw []byte) (*contract.Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return contract.Compile(raw)
}

// maps reports whether the agent's own error mapping knows a code.
func (a *agent) maps(capability, code string) bool {
	offer := a.record.Registration.Offer(capability)
	if offer == nil {
		return false
	}
	_, found := offer.ErrorMapping[code]
	return found
}
