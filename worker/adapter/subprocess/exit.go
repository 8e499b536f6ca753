package subprocess

import (
	"fmt"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/process"
)

// exited is the failure of a program that ended by itself, and not well. Who died of a signal may have done anything.
func exited(e process.Exit, lastWords string, mapping map[string]schemas.Code) *worker.Failure {
	base := schemas.NewError(schemas.Internal, "", "the agent exited with %d", e.Code)
	ran := schemas.RanYes
	if e.Signaled {
		base = schemas.NewError(schemas.Unavailable, schemas.ReasonConnectionLost, "the agent died of signal %d", e.Code-128)
		ran = schemas.RanUnknown
	}
	report := answer.Report{Code: fmt.Sprintf("exit_%d", e.Code)}
	err := report.Error(base, mapping)
	if lastWords != "" {
		err.With("stderr", lastWords)
	}
	return &worker.Failure{Err: err, Ran: ran}
}
