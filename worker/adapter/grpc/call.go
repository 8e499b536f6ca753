package grpc

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

// call is one call of a method.
type call struct {
	agent  *Agent
	task   *worker.Task
	emit   worker.Emit
	fate   fate
	chunks int
	begun  bool // the server may be at work on it
}

// context names the task in the metadata.
func (c *call) context(ctx context.Context) context.Context {
	message := c.task.Message
	pairs := []string{
		"reach-task-id", c.task.ID(), "reach-capability", message.Capability, "reach-attempt", strconv.Itoa(message.Attempt),
		"idempotency-key", c.task.ID(),
	}
	if deadline := schemas.At(c.task.Deadline).String(); deadline != "" {
		pairs = append(pairs, "reach-deadline", deadline)
	}
	if parent := message.Traceparent; parent != "" && printable(parent) {
		pairs = append(pairs, "traceparent", parent)
	}
	for name, value := range c.agent.cfg.Metadata {
		pairs = append(pairs, strings.ToLower(name), value)
	}
	return withFate(metadata.AppendToOutgoingContext(ctx, pairs...), &c.fate)
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// invoke calls a method of any kind.
func (c *call) invoke(ctx context.Context, m *method) (schemas.Payload, *worker.Failure) {
	request := dynamicpb.NewMessage(m.input)
	read := protojson.UnmarshalOptions{DiscardUnknown: c.agent.cfg.DiscardUnknown, Resolver: m.types}
	if err := read.Unmarshal(pieces.Payload(c.task), request); err != nil { // its text may quote the payload
		e := schemas.NewError(schemas.InvalidArgument, schemas.ReasonWrongType, "the payload is not a %s", m.input.FullName())
		return nil, &worker.Failure{Err: e.With("expected", string(m.input.FullName())), Ran: schemas.RanNo}
	}
	if failure := c.begin(ctx); failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result, failure := c.call(ctx, m, request)
	if failure == nil || failure.Ran == schemas.RanYes {
		c.emit.Hop(schemas.HopAgentDone)
	} else if failure.Err.Reason == schemas.ReasonNoSuchEndpoint {
		c.agent.methods.forget(m.name)
	}
	return result, failure
}

// begin is the step before the request goes out.
func (c *call) begin(ctx context.Context) *worker.Failure {
	c.emit.Hop(schemas.HopAdapterRequest)
	if failure := c.agent.there(ctx, c.task); failure != nil {
		return failure
	}
	c.begun = true
	c.agent.busy.Add(1)
	return nil
}

// done is the end of a call, whatever became of it.
func (c *call) done() {
	if c.begun {
		c.agent.busy.Add(-1)
	}
}

func (c *call) call(ctx context.Context, m *method, request *dynamicpb.Message) (schemas.Payload, *worker.Failure) {
	if m.stream {
		return c.stream(ctx, m, request)
	}
	response := dynamicpb.NewMessage(m.output)
	if err := c.agent.conn.Invoke(c.context(ctx), m.path, request, response); err != nil {
		return nil, c.failed(ctx, err)
	}
	return c.result(m, response)
}

// stream takes in one message after the other, as fast as they are wanted.
func (c *call) stream(ctx context.Context, m *method, request *dynamicpb.Message) (schemas.Payload, *worker.Failure) {
	stream, err := c.agent.conn.NewStream(c.context(ctx), &rpc.StreamDesc{ServerStreams: true}, m.path)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) { // io.EOF: RecvMsg says why
		return nil, c.failed(ctx, err)
	}
	if err := stream.CloseSend(); err != nil {
		return nil, c.failed(ctx, err)
	}
	var last schemas.Payload
	for {
		response := dynamicpb.NewMessage(m.output)
		err := stream.RecvMsg(response)
		if errors.Is(err, io.EOF) {
			return c.whole(last), nil
		}
		if err != nil {
			return nil, c.failed(ctx, err)
		}
		var failure *worker.Failure
		if last, failure = c.result(m, response); failure != nil {
			return nil, failure
		}
		if failure := c.chunk(ctx, last); failure != nil {
			return nil, failure
		}
	}
}

// whole is the result of a stream. Nil leaves the chunks to be the result.
func (c *call) whole(last schemas.Payload) schemas.Payload {
	if c.agent.cfg.Last {
		return last
	}
	return nil
}

func (c *call) chunk(ctx context.Context, data schemas.Payload) *worker.Failure {
	c.chunks++
	if c.emit.Chunk(ctx, data) != nil {
		return answer.Ended(ctx, schemas.RanUnknown, false)
	}
	return nil
}

// result is a response as JSON.
func (c *call) result(m *method, response *dynamicpb.Message) (schemas.Payload, *worker.Failure) {
	write := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true, Resolver: m.types}
	raw, err := write.Marshal(response)
	if err != nil {
		e := schemas.NewError(schemas.Internal, schemas.ReasonNotJSON, "the response, a %s, cannot be JSON", m.output.FullName())
		return nil, &worker.Failure{Err: answer.FromAgent(e), Ran: schemas.RanYes}
	}
	if c.agent.cfg.Int64Numbers {
		raw = asNumbers(raw, m.output)
	}
	_ = (*jsontext.Value)(&raw).Compact() // the blanks that protojson puts in at random
	if len(raw) > c.agent.cfg.MaxMessage {
		return nil, c.tooLarge(int64(len(raw)))
	}
	return raw, nil
}

func (c *call) tooLarge(size int64) *worker.Failure {
	return &worker.Failure{Err: answer.TooLarge(int64(c.agent.cfg.MaxMessage), size), Ran: schemas.RanYes}
}
