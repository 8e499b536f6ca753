package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentreach/agent-reach/worker/adapter/internal/httpcall"
)

// remote is a server behind streamable HTTP.
type remote struct {
	cfg      Config
	endpoint *url.URL
	header   http.Header
	pooled   *http.Transport // for calls that may be repeated, and all that are none
	fresh    *http.Transport // a connection for each request
}

func newRemote(cfg Config) (*remote, error) {
	endpoint, err := httpcall.ParseURL("endpoint", cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	header, err := httpcall.Headers(cfg.Headers, endpoint.User)
	if err != nil {
		return nil, err
	}
	endpoint.User = nil
	transport := httpcall.Config{MaxConns: cfg.MaxConns, TLS: cfg.TLS, Proxy: cfg.Proxy}.WithDefaults()
	r := &remote{cfg: cfg, endpoint: endpoint, header: header, pooled: transport.Transport(), fresh: transport.Transport()}
	r.fresh.DisableKeepAlives = true
	return r, nil
}

func (r *remote) connect(ctx context.Context, t *traffic) (*session, error) {
	return greet(ctx, &sdk.StreamableClientTransport{
		Endpoint: r.endpoint.String(), MaxEventSize: -1, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: &requests{remote: r, traffic: t}, CheckRedirect: stay},
	}, t)
}

func (r *remote) close() {
	r.pooled.CloseIdleConnections()
	r.fresh.CloseIdleConnections()
}

// String is the server's host.
func (r *remote) String() string { return r.endpoint.Host }

// stay follows no redirect: it could lead anywhere, with our headers.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// requests sends the requests of one session, and notes of each call whether any of it went out and what came back.
type requests struct {
	remote  *remote
	traffic *traffic
}

// RoundTrip sends one request, once.
func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	c, sent := callOf(req.Context()), new(httpcall.Sending)
	own := req.Clone(sent.Watch(req.Context()))
	own.GetBody = nil // without it, no transport can repeat the request
	for name, values := range r.remote.header {
		own.Header[name] = values
	}
	own.Host = r.remote.header.Get("Host")
	const version = "Mcp-Protocol-Version"
	if known := r.traffic.protocol(); known != "" && own.Header.Get(version) == "" {
		own.Header.Set(version, known)
	}
	resp, err := r.transportFor(c).RoundTrip(own)
	if c != nil && (err == nil || sent.Any()) {
		c.sent.Store(true)
	}
	if err != nil {
		return nil, err
	}
	return r.answered(c, resp)
}

func (r *requests) transportFor(c *call) *http.Transport {
	if c != nil && !c.repeatable {
		return r.remote.fresh
	}
	return r.remote.pooled
}

// statusError is a request that was refused by HTTP, and not by MCP.
type statusError struct{ reply *httpcall.Reply }

// Error names the status.
func (e *statusError) Error() string {
	return "the server answered " + httpcall.StatusLine(e.reply.Status)
}

// maxErrorBody bounds what is read of a refusal.
const maxErrorBody = 1 << 20

// answered bounds what may come back, and keeps a refusal: what it says in MCP, or that a session is gone, the library knows
// itself.
func (r *requests) answered(c *call, resp *http.Response) (*http.Response, error) {
	lostSession := resp.StatusCode == http.StatusNotFound && resp.Request.Header.Get("Mcp-Session-Id") != ""
	if resp.StatusCode < 300 || lostSession {
		resp.Body = &bounded{ReadCloser: resp.Body, left: r.remote.cfg.MaxResult, max: r.remote.cfg.MaxResult, call: c}
		return resp, nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // the status counts, even if the rest does not come
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if message, err := jsonrpc.DecodeMessage(body); err == nil {
		var refused *jsonrpc.Error
		if response, ok := message.(*jsonrpc.Response); ok && errors.As(response.Error, &refused) {
			if c != nil {
				c.refused = refused
			}
			return resp, nil
		}
	}
	return nil, &statusError{&httpcall.Reply{Status: resp.StatusCode, Header: resp.Header, Body: body}}
}

// bounded is a body of which no line may be longer than a message.
type bounded struct {
	io.ReadCloser
	left, max int
	call      *call
}

// Read fails once a line is too long.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for _, c := range p[:n] {
		b.left--
		if c == '\n' {
			b.left = b.max
		}
		if b.left < 0 {
			if b.call != nil {
				b.call.tooLarge.Store(true)
			}
			return 0, errTooLong
		}
	}
	return n, err
}
