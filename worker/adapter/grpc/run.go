package grpc

import (
	"context"
	"errors"
	"io"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/grpc/reachpb"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
	"github.com/agentreach/agent-reach/worker/adapter/internal/transcript"
)

// run calls the Run of our own service.
func (c *call) run(ctx context.Context) (schemas.Payload, *worker.Failure) {
	if failure := c.begin(ctx); failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	message := c.task.Message
	stream, err := reachpb.NewAgentClient(c.agent.conn).Run(c.context(ctx), &reachpb.Task{
		TaskId: c.task.ID(), Capability: message.Capability, Attempt: int32(message.Attempt), Payload: text(pieces.Payload(c.task)),
	})
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	said := transcript.New(c.task, c.emit)
	for !said.Final() {
		word, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && said.Chunks() > 0:
			said.End()
		case errors.Is(err, io.EOF):
			e := schemas.NewError(schemas.Internal, schemas.ReasonProtocol, "the agent's stream ended without a result")
			said.Fail(&worker.Failure{Err: answer.FromAgent(e), Ran: schemas.RanYes})
		case err != nil:
			c.chunks = said.Chunks()
			said.Fail(c.failed(ctx, err))
		default:
			c.take(ctx, said, word)
		}
	}
	result, failure := said.Outcome()
	if failure == nil || failure.Ran == schemas.RanYes {
		c.emit.Hop(schemas.HopAgentDone)
	}
	return result, failure
}

func (c *call) take(ctx context.Context, said *transcript.Transcript, word *reachpb.Said) {
	switch what := word.GetWhat().(type) {
	case *reachpb.Said_Chunk:
		if said.Chunk(ctx, schemas.Payload(bytesOf(what.Chunk))) != nil {
			said.Fail(answer.Ended(ctx, schemas.RanUnknown, false))
		}
	case *reachpb.Said_Progress:
		c.emit.Progress(schemas.Progress{Fraction: what.Progress.Fraction, Message: what.Progress.GetMessage()})
	case *reachpb.Said_Result:
		if size := len(what.Result); size > c.agent.cfg.MaxMessage {
			said.TooLarge(int64(c.agent.cfg.MaxMessage))
			return
		}
		said.Result(bytesOf(what.Result))
	case *reachpb.Said_Error:
		said.Fail(reported(what.Error, c.task.Offer.ErrorMapping))
	}
}

// reported is the error that an agent says in a word of our own service.
func reported(said *reachpb.Error, mapping map[string]schemas.Code) *worker.Failure {
	report := answer.Report{Code: said.GetCode(), Message: said.GetMessage()}
	if schemas.Scan([]byte(said.GetDetails())) == nil {
		_ = schemas.Decode([]byte(said.GetDetails()), &report.Details)
	}
	base := schemas.NewError(schemas.Internal, "", "the agent reported an error without details")
	return &worker.Failure{Err: report.Error(base, mapping), Ran: schemas.RanYes}
}
