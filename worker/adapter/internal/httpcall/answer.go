package httpcall

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/gather"
)

// maxErrorBody bounds an answer that says that the call failed: more of it is not read.
const maxErrorBody = 1 << 20

var (
	errSilent      = errors.New("the answer stopped in the middle, for longer than is allowed")
	errNoFirstByte = errors.New("nothing of the answer came in time: first_byte_timeout_ms is how long it may take")
)

// Answer is what an agent sends back: its status and header have come, its body comes as it is read. It belongs to one goroutine.
type Answer struct {
	Status int
	Header http.Header

	client *Client
	resp   *http.Response
	ctx    context.Context         // the caller's
	inner  context.Context         // that of the request; it ends with ctx, after a silence, or by Close
	cancel context.CancelCauseFunc // ends inner
	first  *time.Timer             // until the first byte of the body; nil afterwards, or where that has no bound of its own
}

// Failed reports whether the status says that the call failed.
func (a *Answer) Failed() bool { return a.Status >= 400 }

// Empty reports whether the agent announced a body of no bytes.
func (a *Answer) Empty() bool { return a.resp.ContentLength == 0 }

// Framed reports whether the end of the body can be told from a connection that breaks.
func (a *Answer) Framed() bool { return a.resp.ContentLength >= 0 || len(a.resp.TransferEncoding) > 0 }

// Read reads the body. Only the time that is spent in Read counts as silence of the agent.
func (a *Answer) Read(p []byte) (int, error) {
	if a.first == nil {
		silence := time.AfterFunc(a.client.cfg.IdleTimeout, func() { a.cancel(errSilent) })
		defer silence.Stop()
	}
	n, err := a.resp.Body.Read(p)
	if a.first != nil && (n > 0 || err != nil) {
		a.first.Stop()
		a.first = nil
	}
	return n, err
}

// Close lets go of the connection, whatever is still to come.
func (a *Answer) Close() {
	if a.first != nil {
		a.first.Stop()
	}
	a.cancel(nil)
	if a.resp != nil {
		_ = a.resp.Body.Close()
	}
}

// Broken is the failure of a body that ended with err before the agent had said all: the agent may have done anything.
func (a *Answer) Broken(err error) *worker.Failure {
	if a.ctx.Err() != nil {
		return answer.Ended(a.ctx, schemas.RanUnknown, false)
	}
	return a.client.lost(a.why(err))
}

// why is what err comes from: a silence that we ended looks to the transport like a cancel.
func (a *Answer) why(err error) error {
	if cause := context.Cause(a.inner); errors.Is(cause, errSilent) || errors.Is(cause, errNoFirstByte) {
		return cause
	}
	return err
}

// Reply is an answer, read to its end or to the limit.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	Size   int64 // of the body: what was read of it, or what the agent announced if that is more
}

// Whole takes in the body, up to a little more than limit. Of an answer that says that the call failed the status is what counts,
// even if the rest does not come.
func (a *Answer) Whole(limit int64) (*Reply, *worker.Failure) {
	r := &Reply{Status: a.Status, Header: a.Header}
	if a.Failed() {
		limit = min(limit, maxErrorBody)
	} else if a.resp.ContentLength > limit {
		r.Size = a.resp.ContentLength
		return r, nil
	}
	var err error
	r.Body, err = readUpTo(a, a.resp.ContentLength, limit)
	r.Size = int64(len(r.Body))
	if err == nil || a.Failed() {
		return r, nil
	}
	return nil, a.Broken(err)
}

// announcedFor is how many bytes have to come before it is believed how many there are to be.
const announcedFor = 1 << 20

// readUpTo takes in what is not longer than limit, or a little more of what is: in one piece of the announced size, where that is known.
func readUpTo(from io.Reader, announced, limit int64) ([]byte, error) {
	if announced < 0 || announced > limit {
		return gather.All(from, limit)
	}
	first := make([]byte, min(announced, announcedFor))
	n, err := io.ReadFull(from, first)
	if err != nil || announced <= announcedFor {
		return first[:n], err
	}
	whole := make([]byte, announced)
	more, err := io.ReadFull(from, whole[copy(whole, first):])
	return whole[:n+more], err
}
