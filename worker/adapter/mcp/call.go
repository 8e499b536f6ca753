package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/httpcall"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

// callBuffer is how many notifications of one call may wait for its Handle call; then nothing more is read.
const callBuffer = 16

// call is one call of a tool, on its way through library and transport in the context of its request.
type call struct {
	token      string // of its progress
	repeatable bool
	heard      chan progressed
	over       chan struct{} // closed when nobody takes from heard any more

	id       jsonrpc.ID     // this and told are set by the traffic
	told     bool           // that it is cancelled
	sent     atomic.Bool    // a byte of it went out; set by the transport
	tooLarge atomic.Bool    // what came back was too large
	result   []byte         // as the server wrote it; this and refused are set before the call returns
	refused  *jsonrpc.Error // the server's own word, which the library's errors cannot be told from
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func newCall(task *worker.Task) *call {
	assignment := task.Message.Assignment
	return &call{
		token: task.ID() + "/" + strconv.Itoa(task.Message.Attempt), repeatable: assignment != nil && assignment.Idempotent,
		heard: make(chan progressed, callBuffer), over: make(chan struct{}),
	}
}

// maxSessions is how many sessions one call is taken to, as long as it is known that none has carried it.
const maxSessions = 3

func (a *Agent) run(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, *worker.Failure) {
	params, failure := a.params(task)
	if failure != nil {
		return nil, failure
	}
	if ctx.Err() != nil {
		return nil, answer.Ended(ctx, schemas.RanNo, false)
	}
	emit.Hop(schemas.HopAdapterRequest)
	for n := 1; ; n++ {
		s, failure := a.keeper.Live(ctx)
		if failure != nil {
			return nil, failure
		}
		result, failure, elsewhere := a.call(ctx, s, task, params, emit)
		if !elsewhere || n == maxSessions {
			if failure == nil || failure.Ran == schemas.RanYes {
				emit.Hop(schemas.HopAgentDone)
			}
			return result, failure
		}
		select {
		case <-s.over:
		case <-ctx.Done():
			return nil, answer.Ended(ctx, schemas.RanNo, false)
		}
	}
}

// params are the tool and its arguments.
func (a *Agent) params(task *worker.Task) (*sdk.CallToolParams, *worker.Failure) {
	capability, payload := task.Message.Capability, pieces.Payload(task)
	if jsontext.Value(payload).Kind() != '{' {
		e := schemas.NewError(schemas.InvalidArgument, schemas.ReasonWrongType, "the payload of an MCP tool must be an object")
		return nil, &worker.Failure{Err: e.With("field", ""), Ran: schemas.RanNo}
	}
	tool, found := a.tools[capability]
	if !found {
		tool = capability
	}
	meta := sdk.Meta{"agentreach/task_id": task.ID(), "agentreach/attempt": task.Message.Attempt}
	if task.Message.Traceparent != "" {
		meta["traceparent"] = strings.ToValidUTF8(task.Message.Traceparent, "")
	}
	return &sdk.CallToolParams{Meta: meta, Name: tool, Arguments: json.RawMessage(payload)}, nil
}

// call calls the tool in one session. It reports true if another session may carry the call: this one is over and has not.
func (a *Agent) call(
	ctx context.Context, s *session, task *worker.Task, params *sdk.CallToolParams, emit worker.Emit,
) (schemas.Payload, *worker.Failure, bool) {
	c := newCall(task)
	own := *params
	own.Meta = sdk.Meta{"progressToken": c.token}
	for name, value := range params.Meta {
		own.Meta[name] = value
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.client.CallTool(context.WithValue(ctx, callKey{}, c), &own)
		ended <- err
	}()
	err := c.listen(ctx, ended, emit)
	if err != nil && ctx.Err() != nil {
		s.traffic.leave(c)
	} else {
		s.traffic.remove(c)
	}
	if err == nil {
		s.answered.Store(true)
		result, failure := a.judge(task, c.result)
		return result, failure, false
	}
	failure, elsewhere := a.failed(ctx, s, c, err, task.Offer.ErrorMapping)
	return nil, failure, elsewhere
}

// listen passes progress on until the call has ended.
func (c *call) listen(ctx context.Context, ended <-chan error, emit worker.Emit) error {
	for {
		select {
		case p := <-c.heard:
			p.tell(ctx, emit)
		case err := <-ended:
			for len(c.heard) > 0 {
				(<-c.heard).tell(ctx, emit)
			}
			return err
		}
	}
}

// chunkKey is where a progress notification has a chunk.
const chunkKey = "agentreach/chunk"

// tell passes one notification on. A chunk fails only when the task has ended, and then the call has, too.
func (p progressed) tell(ctx context.Context, emit worker.Emit) {
	if chunk := p.Meta[chunkKey]; chunk != nil {
		_ = emit.Chunk(ctx, schemas.Payload(chunk))
		return
	}
	progress := schemas.Progress{Message: p.Message}
	if p.Total > 0 {
		fraction := p.Progress / p.Total
		progress.Fraction = &fraction
	}
	emit.Progress(progress)
}

// failed is the failure of a call that brought no result.
func (a *Agent) failed(
	ctx context.Context, s *session, c *call, err error, mapping map[string]schemas.Code,
) (*worker.Failure, bool) {
	ran := schemas.RanNo
	if c.sent.Load() {
		ran = schemas.RanUnknown
	}
	var status *statusError
	switch limit := int64(a.cfg.MaxResult); {
	case c.tooLarge.Load():
		return &worker.Failure{Err: answer.TooLarge(limit, limit+1), Ran: schemas.RanYes}, false
	case ctx.Err() != nil:
		return answer.Ended(ctx, ran, false), false
	case c.refused != nil:
		return refusal(c.refused, mapping), false
	case errors.Is(err, sdk.ErrSessionMissing):
		return answer.Unreached("the server knows the session no more"), true
	case errors.As(err, &status):
		return status.reply.Refused(mapping), false
	case ran == schemas.RanNo:
		return answer.Unreached("the call did not reach the server: %s", httpcall.Reason(err)), sessionOver(err)
	}
	if sessionOver(err) {
		s.part(ctx)
	}
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonConnectionLost, "the session ended while the server had the call")
	return &worker.Failure{Err: s.words(e), Ran: schemas.RanUnknown}, false
}

// sessionOver reports whether err says that its session has ended, or is about to.
func sessionOver(err error) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, os.ErrClosed) || errors.Is(err, io.EOF)
}

// rpc says what the codes of JSON-RPC mean for a call: none of them comes from a tool.
var rpc = map[int64]struct {
	code   schemas.Code
	reason string
	ran    schemas.Ran
}{
	jsonrpc.CodeParseError:     {schemas.Internal, schemas.ReasonProtocol, schemas.RanNo},
	jsonrpc.CodeInvalidRequest: {schemas.Internal, schemas.ReasonProtocol, schemas.RanNo},
	jsonrpc.CodeMethodNotFound: {schemas.Unavailable, schemas.ReasonNoSuchEndpoint, schemas.RanNo},
	jsonrpc.CodeInvalidParams:  {schemas.InvalidArgument, "", schemas.RanNo},
}

// refusal is an error of the protocol.
func refusal(refused *jsonrpc.Error, mapping map[string]schemas.Code) *worker.Failure {
	known, found := rpc[refused.Code]
	if !found {
		known.code, known.ran = schemas.Internal, schemas.RanYes
	}
	base := schemas.NewError(known.code, known.reason, "the server refused the call")
	report := answer.Report{Code: strconv.FormatInt(refused.Code, 10), Message: refused.Message}
	return &worker.Failure{Err: report.Error(base, mapping), Ran: known.ran}
}
