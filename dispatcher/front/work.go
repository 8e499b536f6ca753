package front

import (
	"context"
	"io"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Work is the worker's protocol for agents that have no connection to the broker: they register as all do, claim their tasks, and
// bring the results. Every error is an *schemas.Error. FAILED_PRECONDITION with the reason SUPERSEDED says that another process serves
// the agent now, ABORTED with that reason that the task is no longer the agent's.
type Work interface {
	// Claim gives the agent its tasks, as soon as there is one, at most after wait.
	Claim(ctx context.Context, claim *schemas.Claim, wait time.Duration) (*Claimed, error)
	// Heartbeat says that the agent lives, and what it can serve now.
	Heartbeat(ctx context.Context, beat *schemas.Heartbeat) (*schemas.Heard, error)
	// Receipt says that the agent works on tasks, and how far it is.
	Receipt(ctx context.Context, receipt *schemas.Receipt) (*schemas.Heard, error)
	// Chunk passes on a piece of a result. It waits while the readers are behind.
	Chunk(ctx context.Context, token uint64, chunk *schemas.Chunk) (*schemas.Heard, error)
	// Payload opens the payload of a task that the agent has, whatever its size; whoever gets it closes it. ctx is that of all its reads.
	Payload(ctx context.Context, agentID, instanceID, taskID string, token uint64) (io.ReadSeekCloser, error)
	// TooLarge ends a task whose result is larger than can be taken in.
	TooLarge(ctx context.Context, taskID string, token uint64, why *schemas.Error) error
	// Finish brings a result. The same again changes nothing.
	Finish(ctx context.Context, result *schemas.Result) (*schemas.Answer, error)
	// FinishFrom is Finish for a completed result that is not a part of what says so: it is read from its start, several times maybe, and
	// never held whole.
	FinishFrom(ctx context.Context, result *schemas.Result, made io.ReadSeeker) (*schemas.Answer, error)
	// Release gives back a task that has not begun.
	Release(ctx context.Context, release *schemas.Release) (*schemas.Answer, error)
}

// Claim reads what an agent asks for; its name comes from elsewhere.
func Claim(data []byte, agentID string) (*schemas.Claim, error) {
	claim := new(schemas.Claim)
	if err := read(data, claim); err != nil {
		return nil, err
	}
	if err := named(&claim.AgentID, agentID, "agent_id"); err != nil {
		return nil, err
	}
	return claim, orNil(claim.Check())
}

// Heartbeat reads an agent's heartbeat.
func Heartbeat(data []byte, agentID string) (*schemas.Heartbeat, error) {
	beat := new(schemas.Heartbeat)
	if err := read(data, beat); err != nil {
		return nil, err
	}
	if err := named(&beat.AgentID, agentID, "agent_id"); err != nil {
		return nil, err
	}
	return beat, orNil(beat.Check())
}

// Receipt reads a receipt. One that names no task is of that one.
func Receipt(data []byte, taskID string, token uint64) (*schemas.Receipt, error) {
	receipt := new(schemas.Receipt)
	if err := read(data, receipt); err != nil {
		return nil, err
	}
	if len(receipt.Tasks) == 0 {
		receipt.Tasks = []schemas.ReceiptTask{{TaskID: taskID, Attempt: 1, Sequence: token, Running: true}}
	}
	for i := range receipt.Tasks {
		receipt.Tasks[i].Progress = receipt.Tasks[i].Progress.Bounded()
		if err := namedTask(&receipt.Tasks[i].TaskID, &receipt.Tasks[i].Sequence, taskID, token); err != nil {
			return nil, err
		}
	}
	return receipt, orNil(receipt.Check())
}

// Chunk reads a piece of a task's result.
func Chunk(data []byte, taskID string) (*schemas.Chunk, error) {
	chunk := new(schemas.Chunk)
	if err := read(data, chunk); err != nil {
		return nil, err
	}
	if err := named(&chunk.TaskID, taskID, "task_id"); err != nil {
		return nil, err
	}
	return chunk, orNil(chunk.CheckPosted())
}

// Result reads a result. Its state follows from what it has where it says none, and a code of the agent's own stays visible.
func Result(data []byte, taskID string, token uint64) (*schemas.Result, error) {
	result := new(schemas.Result)
	if err := read(data, result); err != nil {
		return nil, err
	}
	if err := namedTask(&result.TaskID, &result.Sequence, taskID, token); err != nil {
		return nil, err
	}
	result.Attempt, result.Error = max(1, result.Attempt), result.Error.Bounded()
	if result.State == "" && result.Error != nil {
		result.State = schemas.StateFailed
	} else if result.State == "" {
		result.State = schemas.StateCompleted
	}
	if result.Error != nil {
		result.Error.With("origin", "agent")
		if !result.Error.Code.Standard() {
			result.Error.With("agent_code", string(result.Error.Code))
			result.Error.Code = schemas.Internal
		}
	}
	if result.State == schemas.StateCompleted && result.Result == nil {
		return nil, badValue("result", "result takes the whole result, null too, where state is completed")
	}
	return result, orNil(result.Check())
}

// Release reads what is given back.
func Release(data []byte, taskID string, token uint64) (*schemas.Release, error) {
	release := new(schemas.Release)
	if err := accept(data, release, &release.V); err != nil {
		return nil, err
	}
	if err := namedTask(&release.TaskID, &release.Sequence, taskID, token); err != nil {
		return nil, err
	}
	release.Attempt = max(1, release.Attempt)
	return release, schemas.CheckAgentID(release.AgentID)
}

// namedTask fills in what the request says elsewhere; a body that says otherwise is refused.
func namedTask(taskID *string, sequence *uint64, wantID string, token uint64) error {
	if err := named(taskID, wantID, "task_id"); err != nil {
		return err
	}
	return named(sequence, token, "sequence")
}

func named[T comparable](field *T, want T, name string) error {
	var nothing T
	if *field == nothing {
		*field = want
	}
	if *field != want {
		return badValue(name, "%s is another than the request's own", name)
	}
	return nil
}

// orNil is a problem as an error: none is none.
func orNil(problem *schemas.Error) error {
	if problem == nil {
		return nil
	}
	return problem
}
