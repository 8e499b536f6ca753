package dispatcher

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/redact"
)

// refusedResult is the detail of the hop validated, where a result was not accepted. Excerpt is the beginning of the result, masked: it is
// for whoever follows the trace, and no reader of the task sees it.
type refusedResult struct {
	Accepted bool   `json:"accepted"`
	Excerpt  string `json:"excerpt,omitzero"`
}

// validated is what to note of a result; nil where its worker claimed no success, or was right.
func validated(r *schemas.Result, failed *schemas.Error) any {
	if r.State != schemas.StateCompleted || failed == nil {
		return nil
	}
	return refusedResult{Excerpt: redact.Excerpt(r.Result, 0)}
}

// afterTheFact is the refusal of a result, when the agent has done its work: where that must not be done twice, the caller has to
// know that it may be done.
func afterTheFact(t *index.Task, refused *schemas.Error) *schemas.Error {
	if refused == nil || t.Idempotent() {
		return refused
	}
	told := *refused
	told.Details = maps.Clone(refused.Details)
	told.Message += "; the agent has run, and what the task was to do may have happened: look before you run it again"
	return told.With("effect", "may_have_happened")
}

// chunkSchemas are what the chunks of an agent's capabilities have to fit, where the dictionary says.
func (d *Dispatcher) chunkSchemas(r *schemas.Registration) map[string]jsontext.Value {
	known := d.dictionary.Load()
	all := make(map[string]jsontext.Value)
	for i := range r.Capabilities {
		if entry, found := known.Entry(r.Capabilities[i].ID); found && entry.ChunkSchema != nil {
			all[entry.ID] = entry.ChunkSchema
		}
	}
	return all
}
