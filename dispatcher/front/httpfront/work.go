package httpfront

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
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
func (f *fenced) token() (uint64, error) { return tokenOf(f.ID, f.Token) }

func tokenOf(taskID, text string) (uint64, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return 0, err
	}
	token, err := strconv.ParseUint(text, 10, 64)
	if err != nil || token == 0 {
		return 0, schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue,
			"the header %s takes the sequence that came with the task", tokenHeader).With("field", "/"+tokenHeader)
	}
	return token, nil
}

// fencedResult is a result, of any size.
type fencedResult struct {
	TaskPath
	Upload
	Token string `header:"Reach-Token" doc:"The sequence that came with the task." example:"4711"`
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
	claimedAnswer struct{ Body func(huma.Context) }
)

func (s *server) workRoutes() {
	add(s, s.operation("claimTasks"), s.claimTasks)
	add(s, s.operation("heartbeat"), s.heartbeat)
	add(s, s.operation("postReceipt"), s.postReceipt)
	add(s, s.operation("getPayload"), s.getPayload)
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
		claimed, err = &front.Claimed{Claimed: schemas.Claimed{Assignments: []schemas.ClaimedTask{}}}, nil
	}
	if err != nil {
		return nil, err
	}
	release, err := s.reading.hold(ctx, readingCost*int64(min(1, len(claimed.Large)))) // one is read after the other
	if err != nil {
		return nil, err // what it was to be given is there for its next claim
	}
	return &claimedAnswer{func(c huma.Context) {
		defer release()
		c.SetHeader("Content-Type", jsonType)
		c.SetStatus(http.StatusOK)
		if err := claimed.Write(c.Context(), c.BodyWriter()); err != nil {
			panic(http.ErrAbortHandler) // the agent must not take the beginning for all of it
		}
	}}, nil
}

func (s *server) heartbeat(ctx context.Context, in *beatRequest) (*bodied[schemas.Heard], error) {
	beat, err := front.Heartbeat(in.RawBody, in.AgentPath.ID)
	if err != nil {
		return nil, err
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	return answered(work.Heartbeat(ctx, beat))
}

func (s *server) postReceipt(ctx context.Context, in *fenced) (*bodied[schemas.Heard], error) {
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
	return answered(work.Receipt(ctx, receipt))
}

// payloadWish names the payload of a task that the agent has.
type payloadWish struct {
	TaskPath
	Token      string `header:"Reach-Token" doc:"The sequence that came with the task." example:"4711"`
	AgentID    string `query:"agent_id" doc:"The agent."`
	InstanceID string `query:"instance_id" doc:"The instance_id of its registration."`
	Range      string `header:"Range" doc:"The bytes to return, as in RFC 9110." example:"bytes=0-1048575"`
}

// payloadAnswer is a payload alone; Body writes it.
type payloadAnswer struct{ Body func(huma.Context) }

// getPayload is the payload of a task, whole or in ranges.
func (s *server) getPayload(ctx context.Context, in *payloadWish) (*payloadAnswer, error) {
	token, err := tokenOf(in.ID, in.Token)
	if err == nil {
		err = schemas.CheckAgentID(in.AgentID)
	}
	if err != nil {
		return nil, err
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	payload, err := work.Payload(ctx, in.AgentID, in.InstanceID, in.ID, token)
	if err != nil {
		return nil, err
	}
	if payload, err = s.bounded(ctx, readingCost, payload); err != nil {
		return nil, err
	}
	return &payloadAnswer{func(c huma.Context) {
		defer func() { _ = payload.Close() }()
		r, w := humachi.Unwrap(c)
		serveRanges(w, r, time.Time{}, payload)
	}}, nil
}

// resultTooLarge ends the task of an agent whose result is not taken in for its size, so that nobody waits for it.
func (s *server) resultTooLarge(r *http.Request, size int64) {
	id, found := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/tasks/"), "/result")
	token, err := tokenOf(id, r.Header.Get(tokenHeader))
	if !found || err != nil || r.Method != http.MethodPost || s.Work == nil {
		return
	}
	why := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonResultTooLarge,
		"the result is larger than the %d bytes that are accepted", s.Limits.PayloadBytes).With("limit_bytes", s.Limits.PayloadBytes)
	if size >= 0 {
		why.With("size_bytes", size)
	}
	if err := s.Work.TooLarge(r.Context(), id, token, why); err != nil {
		s.Logger.Debug().Err(err).Str("task_id", id).Msg("a task whose result is too large has not ended by it")
	}
}

func (s *server) postChunk(ctx context.Context, in *fenced) (*bodied[schemas.Heard], error) {
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
	return answered(work.Chunk(ctx, token, chunk))
}

func (s *server) postResult(ctx context.Context, in *fencedResult) (*bodied[schemas.Answer], error) {
	token, err := tokenOf(in.ID, in.Token)
	if err != nil {
		return nil, err
	}
	result, made, err := readUpload(&in.Upload,
		func(data []byte) (*schemas.Result, error) { return front.Result(data, in.ID, token) },
		func(file io.ReaderAt, size int64) (*schemas.Result, *io.SectionReader, error) {
			return front.LargeResult(file, size, in.ID, token)
		})
	if err != nil {
		return nil, err
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	if made != nil {
		return answered(work.FinishFrom(ctx, result, made))
	}
	return answered(work.Finish(ctx, result))
}

func (s *server) releaseTask(ctx context.Context, in *fenced) (*bodied[schemas.Answer], error) {
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
	return answered(work.Release(ctx, release))
}
