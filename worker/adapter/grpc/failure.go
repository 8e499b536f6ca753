package grpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// verdict is what a code means where the server itself said it.
type verdict struct {
	code   schemas.Code
	reason string
	ran    schemas.Ran
	again  bool // some repeat of the task may help
}

// verdicts are those of codes that do not stand for themselves, or of a server that did nothing. All others are of an agent that
// ran, and worth no repeat.
var verdicts = map[codes.Code]verdict{
	codes.Unknown:            {schemas.Internal, "", schemas.RanYes, false}, // what most servers make of any error
	codes.Canceled:           {schemas.Cancelled, "", schemas.RanUnknown, false},
	codes.DeadlineExceeded:   {schemas.DeadlineExceeded, "", schemas.RanUnknown, true},
	codes.Unavailable:        {schemas.Unavailable, "", schemas.RanNo, true},
	codes.ResourceExhausted:  {schemas.ResourceExhausted, schemas.ReasonBusy, schemas.RanNo, true},
	codes.Unimplemented:      {schemas.Unavailable, schemas.ReasonNoSuchEndpoint, schemas.RanNo, true},
	codes.InvalidArgument:    {schemas.InvalidArgument, "", schemas.RanNo, false},
	codes.FailedPrecondition: {schemas.FailedPrecondition, "", schemas.RanNo, false},
	codes.Unauthenticated:    {schemas.Unauthenticated, "", schemas.RanNo, false},
	codes.PermissionDenied:   {schemas.PermissionDenied, "", schemas.RanNo, false},
}

func verdictOf(code codes.Code) verdict {
	if v, found := verdicts[code]; found {
		return v
	}
	return verdict{code: spelled(code), ran: schemas.RanYes}
}

// failed is the failure of a call.
func (c *call) failed(ctx context.Context, err error) *worker.Failure {
	state := status.Convert(err)
	switch {
	case limitOf(state) == c.agent.cfg.MaxMessage: // it was us who refused a message
		return c.tooLarge(int64(c.agent.cfg.MaxMessage) + 1)
	case c.fate.answered.Load():
		return c.said(state)
	case ctx.Err() != nil:
		return answer.Ended(ctx, c.ran(), false)
	case state.Code() == codes.ResourceExhausted: // the library does not send it
		return payloadTooLarge(c.agent.cfg.MaxMessage)
	case !c.fate.sent.Load():
		return c.agent.cfg.cannotConnect(err)
	}
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonConnectionLost,
		"the server was called, but the connection ended before it answered")
	return &worker.Failure{Err: e, Ran: schemas.RanUnknown}
}

func (c *call) ran() schemas.Ran {
	if c.fate.sent.Load() {
		return schemas.RanUnknown
	}
	return schemas.RanNo
}

// limitOf is the limit that a message was refused for by whoever received it, 0 if that is not what happened. Both sides use
// the same words.
func limitOf(state *status.Status) int {
	var size, limit int
	_, err := fmt.Sscanf(state.Message(), "grpc: received message larger than max (%d vs. %d)", &size, &limit)
	if err != nil || state.Code() != codes.ResourceExhausted {
		return 0
	}
	return limit
}

func payloadTooLarge(limit int) *worker.Failure {
	e := schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge,
		"the payload is too large for the agent, whose requests may have %d bytes", limit)
	return &worker.Failure{Err: e.With("limit_bytes", limit), Ran: schemas.RanNo}
}

// said is a status of the server. The reason of a google.rpc.ErrorInfo is the agent's own code; a RetryInfo says when to come
// back.
func (c *call) said(state *status.Status) *worker.Failure {
	if limit := limitOf(state); limit > 0 {
		return payloadTooLarge(limit)
	}
	v := verdictOf(state.Code())
	if c.chunks > 0 && v.ran == schemas.RanNo {
		v.ran = schemas.RanYes
	}
	base := schemas.NewError(v.code, v.reason, "the server answered %s", spelled(state.Code()))
	base.Retryable = v.again
	report := answer.Report{Message: state.Message()}
	if noSuchMethod(state) {
		report.Message += "; transport.method says which method is called"
	}
	for _, detail := range state.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			report.Code, report.Details = detail.GetReason(), rawTexts(detail.GetMetadata())
		case *errdetails.RetryInfo:
			base.RetryAfterMS = schemas.Milliseconds(min(max(detail.GetRetryDelay().AsDuration(), 0), maxRetryAfter))
		}
	}
	e := report.Error(base, c.task.Offer.ErrorMapping)
	return &worker.Failure{Err: e.With("agent_status", spelled(state.Code())), Ran: v.ran}
}

// noSuchMethod reports whether it is the server's library that knows no such method, and not the agent itself. These are the words of
// those in Go, and in Python, C++ and Java.
func noSuchMethod(state *status.Status) bool {
	text := state.Message()
	return state.Code() == codes.Unimplemented && (strings.HasPrefix(text, "unknown ") || strings.HasPrefix(text, "Method not found"))
}

// maxRetryAfter keeps an agent from putting off its tasks for ever.
const maxRetryAfter = 24 * time.Hour

// rawTexts are texts as JSON; one that is JSON itself stays so.
func rawTexts(texts map[string]string) map[string]jsontext.Value {
	all := make(map[string]jsontext.Value, len(texts))
	for name, text := range texts {
		if schemas.Scan([]byte(text)) == nil {
			all[name] = jsontext.Value(text)
			continue
		}
		all[name] = schemas.MustEncode(text)
	}
	return all
}
