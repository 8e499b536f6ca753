package httpcall

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

const maxRedirects = 3

// Post sends body for a task and waits for the header of the answer, following redirects within the origin. The failure says
// whether anything went out. When ctx ends, the connection is closed. The answer is the caller's to close.
func (c *Client) Post(ctx context.Context, task *worker.Task, header http.Header, body pieces.Message) (*Answer, *worker.Failure) {
	a := &Answer{client: c, ctx: ctx}
	a.inner, a.cancel = context.WithCancelCause(ctx)
	if c.cfg.FirstByte > 0 {
		a.first = time.AfterFunc(c.cfg.FirstByte, func() { a.cancel(errNoFirstByte) })
	}
	via, to := c.transportFor(task), c.endpoint
	for redirects := 0; ; redirects++ {
		sent := new(Sending)
		resp, err := via.RoundTrip(post(sent.Watch(a.inner), to, header, body))
		if err != nil {
			a.Close()
			return nil, a.broken(sent, err)
		}
		if resp.StatusCode/100 != 3 {
			a.Status, a.Header, a.resp = resp.StatusCode, resp.Header, resp
			return a, nil
		}
		_ = resp.Body.Close()
		next, ok := c.redirect(to, resp)
		if !ok || redirects == maxRedirects {
			a.Close()
			return nil, refusedRedirect(resp.StatusCode)
		}
		to = next
	}
}

// post makes a request that no transport can repeat: without GetBody its body is there once.
func post(ctx context.Context, to *url.URL, header http.Header, body pieces.Message) *http.Request {
	req := &http.Request{
		Method: http.MethodPost, URL: to, Header: header, Host: header.Get("Host"),
		Body: io.NopCloser(body.Reader()), ContentLength: int64(body.Len()),
	}
	return req.WithContext(ctx)
}

func (c *Client) redirect(from *url.URL, resp *http.Response) (*url.URL, bool) {
	keepsMethod := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
	location := resp.Header.Get("Location")
	if !keepsMethod || location == "" {
		return nil, false
	}
	to, err := from.Parse(location)
	if err != nil || !sameOrigin(c.endpoint, to) {
		return nil, false
	}
	to.User, to.Fragment = nil, ""
	return to, true
}

func refusedRedirect(status int) *worker.Failure {
	e := schemas.NewError(schemas.Internal, schemas.ReasonRedirectRefused,
		"the agent answered %s: only 307 and 308 within its origin are followed, %d times", StatusLine(status), maxRedirects)
	return &worker.Failure{Err: answer.FromAgent(e).With("agent_status", status), Ran: schemas.RanNo}
}

// broken is an exchange that ended without an answer.
func (a *Answer) broken(sent *Sending, err error) *worker.Failure {
	ran := schemas.RanNo
	if sent.Any() {
		ran = schemas.RanUnknown
	}
	switch {
	case a.ctx.Err() != nil:
		return answer.Ended(a.ctx, ran, false)
	case ran == schemas.RanUnknown:
		return a.client.lost(a.why(err))
	}
	return a.client.cannotConnect(a.why(err))
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
