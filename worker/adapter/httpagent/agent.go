// Package httpagent makes an agent that answers HTTP POST into a worker.Handler: an existing endpoint needs no change.
//
// Whether an agent did anything decides what a retry may do, so this package never guesses: nothing is sent twice, neither by us
// nor by the transport below, and every failure says whether a byte of the request went out. Redirects are followed to the same
// origin only. A task that may not be repeated gets a connection of its own, since a pooled one can die between two requests
// without anyone knowing whether the second was read.
//
// An Agent has no goroutines of its own; those of net/http end with Close.
package httpagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// Config says how to reach one agent. Endpoint alone is needed.
type Config struct {
	Endpoint    string            // where to post, exactly; a user and password in it become basic authentication
	HealthCheck string            // answers 2xx to GET; "" for an agent without one
	Input       Input             // "" goes by the path: …/reach is message, …/execute is execute, all else payload
	Headers     map[string]string // sent with every request, to the origin of Endpoint alone

	ConnectTimeout time.Duration // for the connection, and again for its TLS; 3 s
	ReadTimeout    time.Duration // longest silence in the middle of an answer, not before it; 30 s
	MaxResult      int64         // bytes of an answer; 128 MiB
	MaxConns       int           // open at once; 256

	TLS   *tls.Config
	Proxy func(*http.Request) (*url.URL, error) // nil: none, whatever the environment says

	// DeclaresError tells that the result of a capability has a member called error, so that it is no sign of failure. What the
	// task's own offer declares counts without it.
	DeclaresError func(capability string) bool
}

// Agent is one HTTP agent.
type Agent struct {
	cfg      Config
	endpoint *url.URL
	health   *url.URL
	header   http.Header
	pooled   *http.Transport // for tasks that may be repeated, and for health checks
	fresh    *http.Transport // a connection for each request
}

var _ worker.Handler = (*Agent)(nil)

// New checks cfg; it does not connect.
func New(cfg Config) (*Agent, error) {
	cfg = cfg.withDefaults()
	if cfg.ConnectTimeout < 0 || cfg.ReadTimeout < 0 || cfg.MaxResult < 0 || cfg.MaxConns < 0 {
		return nil, errors.New("http agent: timeouts and limits cannot be negative")
	}
	endpoint, err := parseURL("endpoint", cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, endpoint: endpoint, pooled: cfg.transport(), fresh: cfg.transport()}
	a.fresh.DisableKeepAlives = true
	if a.header, err = headers(cfg.Headers, endpoint.User); err != nil {
		return nil, err
	}
	endpoint.User = nil
	if a.cfg.Input, err = cfg.Input.of(endpoint.Path); err != nil {
		return nil, err
	}
	if cfg.HealthCheck == "" {
		return a, nil
	}
	if a.health, err = parseURL("health_check", cfg.HealthCheck); err != nil {
		return nil, err
	}
	return a, nil
}

// Handle posts the task and waits for the whole answer. When ctx ends, the connection is closed.
func (a *Agent) Handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, error) {
	body, err := a.cfg.Input.body(task)
	if err != nil {
		return nil, &worker.Failure{Err: schemas.AsError(err), Ran: schemas.RanNo}
	}
	emit.Hop(schemas.HopAdapterRequest)
	answer, failure := a.exchange(ctx, a.transportFor(task), a.taskHeader(task), body)
	if failure != nil {
		return nil, failure
	}
	emit.Hop(schemas.HopAgentDone)
	result, failure := a.judge(task, answer)
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

func (a *Agent) transportFor(task *worker.Task) *http.Transport {
	if assignment := task.Message.Assignment; assignment != nil && assignment.Idempotent {
		return a.pooled
	}
	return a.fresh
}

// maxDrain is what is read of a health check's answer to keep its connection; above that it is cheaper to close it.
const maxDrain = 64 << 10

// Health asks the agent's health check, within ctx; an agent without one is taken to be well. Redirects are not followed, and
// credentials go there only if it has the endpoint's origin.
func (a *Agent) Health(ctx context.Context) error {
	if a.health == nil {
		return nil
	}
	req := (&http.Request{Method: http.MethodGet, URL: a.health, Header: http.Header{}}).WithContext(ctx)
	if sameOrigin(a.endpoint, a.health) {
		req.Header, req.Host = a.header.Clone(), a.header.Get("Host")
	}
	resp, err := a.pooled.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("check health of %s: %s", a.health.Host, reason(err))
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("check health of %s: it answered %s", a.health.Host, statusLine(resp.StatusCode))
	}
	return nil
}

// Close lets go of idle connections. Call it when no Handle runs any more.
func (a *Agent) Close() {
	a.pooled.CloseIdleConnections()
	a.fresh.CloseIdleConnections()
}
