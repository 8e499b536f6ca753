package httpfront

import (
	"context"
	"strconv"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// defaultClaimWait is the wait of a claim that names none.
const defaultClaimWait = 30 * time.Second

// tokenHeader names the fencing token of a task, which came with its claim.
const tokenHeader = "Reach-Token"

// fenced is what an agent says of a task that it has.
type fenced struct {
	TaskPath
	JSON
	Token string `header:"Reach-Token" doc:"The sequence that came with the task." example:"4711"`
}

// token is the number in the header.
func (f *fenced) token() (uint64, error) {
	if err := schemas.CheckTaskID(f.ID); err != nil {
		return 0, err
	}
	token, err := strconv.ParseUint(f.Token, 10, 64)
	if err != nil || token == 0 {
		return 0, schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue,
			"the header %s takes the sequence that came with the task", tokenHeader).With("field", "/"+tokenHeader)
	}
	return token, nil
}

type (
	claimRequest struct {
		AgentPath
		JSON
		Patience
	}
	beatRequest struct {
		AgentPath
		JSON
	}
	claimedAnswer struct{ Body *schemas.Claimed }
	heardAnswer   struct{ Body *schemas.Heard }
	doneAnswer    struct{ Body *schemas.Answer }
)

func (s *server) workRoutes() {
	add(s, s.operation("claimTasks"), s.claimTasks)
	add(s, s.operation("heartbeat"), s.heartbeat)
	add(s, s.operation("postReceipt"), s.postReceipt)
	add(s, s.operation("postChunk"), s.postChunk)
	add(s, s.operation("postResult"), s.postResult)
	add(s, s.operation("releaseTask"), s.releaseTask)
}

// work is what agents without a connection to the broker are served by.
func (s *server) work() (front.Work, error) {
	if s.Work == nil {
		return nil, schemas.NewError(schemas.Unimplemented, "", "tasks are not handed out here")
	}
	return s.Work, nil
}

// claimTasks waits for tasks; when the server begins to stop, the answer is that there is none.
func (s *server) claimTasks(ctx context.Context, in *claimRequest) (*claimedAnswer, error) {
	claim, err := front.Claim(in.RawBody, in.AgentPath.ID)
	if err != nil {
		return nil, err
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	waiting, cancel := s.whileServing(ctx)
	defer cancel()
	claimed, err := work.Claim(waiting, claim, in.orElse(defaultClaimWait, s.WaitMax))
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return &claimedAnswer{&schemas.Claimed{Assignments: []schemas.ClaimedTask{}}}, nil
	}
	if err != nil {
		return nil, err
	}
	return &claimedAnswer{claimed}, nil
}

func (s *server) heartbeat(ctx context.Context, in *beatRequest) (*heardAnswer, error) {
	beat, err := front.Heartbeat(in.RawBody, in.AgentPath.ID)
	if err != nil {
		return nil, err
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	return heard(work.Heartbeat(ctx, beat))
}

func heard(answer *schemas.Heard, err error) (*heardAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &heardAnswer{answer}, nil
}

func (s *server) postReceipt(ctx context.Context, in *fenced) (*heardAnswer, error) {
	token, err := in.token()
	if err != nil {
		return nil, err
	}
	receipt, err := front.Receipt(in.RawBody, in.ID, token)
	if err != nil {
		return nil, err
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	return heard(work.Receipt(ctx, receipt))
}

func (s *server) postChunk(ctx context.Context, in *fenced) (*heardAnswer, error) {
	token, err := in.token()
	if err != nil {
		return nil, err
	}
	chunk, err := front.Chunk(in.RawBody, in.ID)
	if err != nil {
		return nil, err
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	return heard(work.Chunk(ctx, token, chunk))
}

func (s *server) postResult(ctx context.Context, in *fenced) (*doneAnswer, error) {
	token, err := in.token()
	if err != nil {
		return nil, err
	}
	result, err := front.Result(in.RawBody, in.ID, token)
	if err != nil {
		return nil, err
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	return settled(work.Finish(ctx, result))
}

func (s *server) releaseTask(ctx context.Context, in *fenced) (*doneAnswer, error) {
	token, err := in.token()
	if err != nil {
		return nil, err
	}
	release, err := front.Release(in.RawBody, in.ID, token)
	if err != nil {
		return nil, err
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	return settled(work.Release(ctx, release))
}

func settled(answer *schemas.Answer, err error) (*doneAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &doneAnswer{answer}, nil
}
