package httpagent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

const (
	maxRedirects = 3
	maxErrorBody = 1 << 20 // of an answer that says that the call failed, more is not read
)

// reply is an agent's answer, read to its end or to the limit.
type reply struct {
	status int
	header http.Header
	body   []byte
	size   int64 // of the body: what was read of it, or what the agent announced if that is more
}

func (r *reply) failed() bool { return r.status >= 400 }

var errSilent = errors.New("the answer stopped in the middle")

// exchange posts body and reads the answer, following redirects within the origin. The failure says whether anything went out.
func (a *Agent) exchange(ctx context.Context, via *http.Transport, header http.Header, body []byte) (*reply, *worker.Failure) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	to := a.endpoint
	for redirects := 0; ; redirects++ {
		sent := new(sending)
		resp, err := via.RoundTrip(post(sent.watch(inner), to, header, body))
		if err != nil {
			return nil, a.broken(ctx, sent, err)
		}
		if resp.StatusCode/100 != 3 {
			return a.read(ctx, cancel, resp)
		}
		_ = resp.Body.Close()
		next, ok := a.redirect(to, resp)
		if !ok || redirects == maxRedirects {
			return nil, refusedRedirect(resp.StatusCode)
		}
		to = next
	}
}

// post makes a request that no transport can repeat: without GetBody its body is there once.
func post(ctx context.Context, to *url.URL, header http.Header, body []byte) *http.Request {
	req := &http.Request{
		Method: http.MethodPost, URL: to, Header: header, Host: header.Get("Host"),
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	return req.WithContext(ctx)
}

func (a *Agent) redirect(from *url.URL, resp *http.Response) (*url.URL, bool) {
	keepsMethod := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
	location := resp.Header.Get("Location")
	if !keepsMethod || location == "" {
		return nil, false
	}
	to, err := from.Parse(location)
	if err != nil || !sameOrigin(a.endpoint, to) {
		return nil, false
	}
	to.User, to.Fragment = nil, ""
	return to, true
}

func refusedRedirect(status int) *worker.Failure {
	e := schemas.NewError(schemas.Internal, schemas.ReasonRedirectRefused,
		"the agent answered %s: only 307 and 308 within its origin are followed, %d times", statusLine(status), maxRedirects)
	return &worker.Failure{Err: answer.FromAgent(e).With("agent_status", status), Ran: schemas.RanNo}
}

// broken is an exchange that ended without an answer.
func (a *Agent) broken(ctx context.Context, sent *sending, err error) *worker.Failure {
	ran := schemas.RanNo
	if sent.any() {
		ran = schemas.RanUnknown
	}
	if ctx.Err() != nil {
		return answer.Ended(ctx, ran, false)
	}
	if ran == schemas.RanUnknown {
		return a.lost(err)
	}
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "cannot reach %s: %s", a.endpoint.Host, reason(err))
	return &worker.Failure{Err: e, Ran: schemas.RanNo}
}

// lost is a connection that ended after the request went out.
func (a *Agent) lost(err error) *worker.Failure {
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonConnectionLost,
		"%s was asked, but the connection ended before it answered: %s", a.endpoint.Host, reason(err))
	return &worker.Failure{Err: e, Ran: schemas.RanUnknown}
}

// read takes in the body, up to the limit. Of an answer that says that the call failed the status is what counts, even if the
// rest does not come.
func (a *Agent) read(ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response) (*reply, *worker.Failure) {
	defer func() { _ = resp.Body.Close() }()
	r := &reply{status: resp.StatusCode, header: resp.Header}
	limit := a.cfg.MaxResult
	if r.failed() {
		limit = min(limit, maxErrorBody)
	} else if resp.ContentLength > limit {
		r.size = resp.ContentLength
		return r, nil
	}
	silence := time.AfterFunc(a.cfg.ReadTimeout, func() { cancel(errSilent) })
	defer silence.Stop()
	var err error
	r.body, err = readUpTo(resp.Body, limit+1, func() { silence.Reset(a.cfg.ReadTimeout) })
	r.size = int64(len(r.body))
	switch {
	case err == nil || r.failed():
		return r, nil
	case ctx.Err() != nil:
		return nil, answer.Ended(ctx, schemas.RanUnknown, false)
	}
	return nil, a.lost(err)
}

// readUpTo reads at most limit bytes, and says so after each piece.
func readUpTo(from io.Reader, limit int64, heard func()) ([]byte, error) {
	var body bytes.Buffer
	piece := make([]byte, 32<<10)
	for int64(body.Len()) < limit {
		n, err := from.Read(piece[:min(int64(len(piece)), limit-int64(body.Len()))])
		body.Write(piece[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return body.Bytes(), err
		}
		heard()
	}
	return body.Bytes(), nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}
