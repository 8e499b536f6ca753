package websocket

import (
	"fmt"

	ws "github.com/coder/websocket"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// closing is how a connection ended: the agent's close code, -1 without one, and what that means for its tasks.
type closing struct {
	class
	code int
}

// class is what a close code means: for a task that the agent had been sent, and for the next connection.
type class struct {
	status  schemas.Code
	reason  string
	patient bool // it is of no use to connect again soon
}

var lost = class{status: schemas.Unavailable, reason: schemas.ReasonConnectionLost}

// closes are the codes that say more than that the connection is over. The agent may have done anything, whatever they say, but
// for a message that was too big for it.
var closes = map[ws.StatusCode]class{
	ws.StatusProtocolError:           {status: schemas.Internal, reason: schemas.ReasonProtocol},
	ws.StatusUnsupportedData:         {status: schemas.Internal, reason: schemas.ReasonProtocol},
	ws.StatusInvalidFramePayloadData: {status: schemas.Internal, reason: schemas.ReasonProtocol},
	ws.StatusMandatoryExtension:      {status: schemas.Internal, reason: schemas.ReasonProtocol},
	ws.StatusPolicyViolation:         {status: schemas.PermissionDenied, patient: true},
	ws.StatusInternalError:           {status: schemas.Internal},
	ws.StatusTryAgainLater:           {status: schemas.ResourceExhausted, reason: schemas.ReasonBusy, patient: true},
	statusUnauthorized:               {status: schemas.Unauthenticated, patient: true},
	statusForbidden:                  {status: schemas.PermissionDenied, patient: true},
	statusTimeout:                    {status: schemas.DeadlineExceeded},
}

// Codes of the registry that the library has no names for.
const (
	statusUnauthorized ws.StatusCode = 3000
	statusForbidden    ws.StatusCode = 3003
	statusTimeout      ws.StatusCode = 3008
)

// closingOf reads a close code. With a single task in flight, it is that task's message which was too big.
func closingOf(code ws.StatusCode, inFlight int) closing {
	end := closing{class: lost, code: int(code)}
	if known, found := closes[code]; found {
		end.class = known
	}
	if code == ws.StatusMessageTooBig && inFlight == 1 {
		end.class = class{status: schemas.ResourceExhausted, reason: schemas.ReasonPayloadTooLarge}
	}
	return end
}

// own is the code as an owner's mapping knows it; "" without one.
func (c closing) own() string {
	if c.code <= 0 {
		return ""
	}
	return fmt.Sprintf("close_%d", c.code)
}

// deliberate reports whether the code says that the tasks are to fail.
func (c closing) deliberate(mapping map[string]schemas.Code) bool {
	return c.class != lost || mapping[c.own()] != ""
}

// failure is that of a task which the agent had been sent. An owner's mapping of close_4001 and the like counts first.
func (c closing) failure(mapping map[string]schemas.Code) *worker.Failure {
	e := schemas.NewError(c.status, c.reason, "the connection to the agent ended while it had the task")
	e = answer.Report{Code: c.own()}.Error(e, mapping)
	ran := schemas.RanUnknown
	if c.reason == schemas.ReasonPayloadTooLarge {
		ran = schemas.RanNo
	}
	return &worker.Failure{Err: e, Ran: ran}
}
