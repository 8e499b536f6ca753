// Package httpcall posts a task to an agent over HTTP and knows afterwards whether the agent can have seen any of it. It is what
// the adapters that speak HTTP share: the address and its credentials, the exchange, and what a status means.
//
// Whether an agent did anything decides what a retry may do, so this package never guesses: nothing is sent twice, neither by us
// nor by the transport below, and every failure says whether a byte of the request went out. Redirects are followed to the same
// origin only. A task that may not be repeated gets a connection of its own, since a pooled one can die between two requests
// without anyone knowing whether the second was read.
//
// A Client has no goroutines of its own; those of net/http end with Close.
package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// Config says how to reach one agent. Endpoint alone is needed.
type Config struct {
	Endpoint    string            // where to post, exactly; a user and password in it become basic authentication
	HealthCheck string            // answers 2xx to GET; "" for an agent without one
	Headers     map[string]string // sent with every request, to the origin of Endpoint alone

	ConnectTimeout time.Duration // for the connection, and again for its TLS; 3 s
	FirstByte      time.Duration // from the request to the first byte of the answer's body; 0: IdleTimeout, from its header on
	IdleTimeout    time.Duration // longest silence in the middle of an answer; 30 s
	MaxConns       int           // open at once; 256

	TLS   *tls.Config
	Proxy func(*http.Request) (*url.URL, error) // nil: none, whatever the environment says
}

// Client posts to one agent.
type Client struct {
	cfg      Config
	endpoint *url.URL
	health   *url.URL
	header   http.Header
	pooled   *http.Transport // for tasks that may be repeated, and for health checks
	fresh    *http.Transport // a connection for each request
}

// New checks cfg; it does not connect.
func New(cfg Config) (*Client, error) {
	cfg = cfg.WithDefaults()
	if cfg.ConnectTimeout < 0 || cfg.FirstByte < 0 || cfg.IdleTimeout < 0 || cfg.MaxConns < 0 {
		return nil, errors.New("timeouts and limits cannot be negative")
	}
	endpoint, err := ParseURL("endpoint", cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, endpoint: endpoint, pooled: cfg.Transport(), fresh: cfg.Transport()}
	c.fresh.DisableKeepAlives = true
	if c.header, err = Headers(cfg.Headers, endpoint.User); err != nil {
		return nil, err
	}
	endpoint.User = nil
	if cfg.HealthCheck == "" {
		return c, nil
	}
	if c.health, err = ParseURL("health_check", cfg.HealthCheck); err != nil {
		return nil, err
	}
	return c, nil
}

// Path is that of the endpoint.
func (c *Client) Path() string { return c.endpoint.Path }

func (c *Client) transportFor(task *worker.Task) *http.Transport {
	if assignment := task.Message.Assignment; assignment != nil && assignment.Idempotent {
		return c.pooled
	}
	return c.fresh
}

// maxDrain is what is read of a health check's answer to keep its connection; above that it is cheaper to close it.
const maxDrain = 64 << 10

// Health asks the agent's health check, within ctx; an agent without one is taken to be well. Redirects are not followed, and
// credentials, those of the configuration and extra, go there only if it has the endpoint's origin.
func (c *Client) Health(ctx context.Context, extra http.Header) error {
	if c.health == nil {
		return nil
	}
	req := (&http.Request{Method: http.MethodGet, URL: c.health, Header: http.Header{}}).WithContext(ctx)
	if sameOrigin(c.endpoint, c.health) {
		req.Header, req.Host = c.header.Clone(), c.header.Get("Host")
		maps.Copy(req.Header, extra)
	}
	resp, err := c.pooled.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("check health of %s: %s", c.health.Host, Reason(err))
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("check health of %s: it answered %s", c.health.Host, StatusLine(resp.StatusCode))
	}
	return nil
}

// Close lets go of idle connections. Call it when no answer is read any more.
func (c *Client) Close() {
	c.pooled.CloseIdleConnections()
	c.fresh.CloseIdleConnections()
}

// cannotConnect is a task of which nothing went out.
func (c *Client) cannotConnect(err error) *worker.Failure {
	return answer.Unreached("cannot reach %s: %s", c.endpoint.Host, Reason(err))
}

// lost is a connection that ended after the request went out.
func (c *Client) lost(err error) *worker.Failure {
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonConnectionLost,
		"%s was asked, but the connection ended before it answered: %s", c.endpoint.Host, Reason(err))
	return &worker.Failure{Err: e, Ran: schemas.RanUnknown}
}
