package subprocess

import (
	"fmt"
	"os"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// exit is how a program ended.
type exit struct {
	code     int  // as a shell has it: 128 + the signal for one that died of it
	signaled bool // it died of a signal
	told     bool // we had asked it to end
	killed   bool // we had to kill it
}

func exitOf(state *os.ProcessState, told, killed bool) exit {
	e := exit{code: state.ExitCode(), told: told, killed: killed}
	if number := signalOf(state); number > 0 {
		e.code, e.signaled = 128+number, true
	}
	return e
}

// failure of a program that ended by itself, and not well. Who died of a signal may have done anything.
func (e exit) failure(lastWords string, mapping map[string]schemas.Code) *worker.Failure {
	base := schemas.NewError(schemas.Internal, "", "the agent exited with %d", e.code)
	ran := schemas.RanYes
	if e.signaled {
		base = schemas.NewError(schemas.Unavailable, schemas.ReasonConnectionLost, "the agent died of signal %d", e.code-128)
		ran = schemas.RanUnknown
	}
	report := answer.Report{Code: fmt.Sprintf("exit_%d", e.code)}
	err := report.Error(base, mapping)
	if lastWords != "" {
		err.With("stderr", lastWords)
	}
	return &worker.Failure{Err: err, Ran: ran}
}
