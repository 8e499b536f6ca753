// Package httpagent makes an agent that answers HTTP POST into a worker.Handler: an existing endpoint needs no change. How the
// exchange is made, and what is known of one that breaks, is the business of httpcall.
//
// An Agent has no goroutines of its own; those of net/http end with Close.
package httpagent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/internal/httpcall"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

// Input is what an agent is given as the body of a request.
type Input = httpcall.Input

// The inputs.
const (
	InputPayload = httpcall.InputPayload // the bare payload; the whole answer is the result
	InputMessage = httpcall.InputMessage // the ReachMessage; the answer is {"result": …} or {"error": …}
	InputExecute = httpcall.InputExecute // {"capability", "payload", "token", "request_id"}; as message, or with a status
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
}

const defaultMaxResult = 128 << 20

// Agent is one HTTP agent.
type Agent struct {
	client *httpcall.Client
	judge  httpcall.Judge
}

var _ worker.Handler = (*Agent)(nil)

// New checks cfg; it does not connect.
func New(cfg Config) (*Agent, error) {
	if cfg.MaxResult < 0 {
		return nil, errors.New("http agent: timeouts and limits cannot be negative")
	}
	client, err := httpcall.New(httpcall.Config{
		Endpoint: cfg.Endpoint, HealthCheck: cfg.HealthCheck, Headers: cfg.Headers,
		ConnectTimeout: cfg.ConnectTimeout, IdleTimeout: cfg.ReadTimeout, MaxConns: cfg.MaxConns, TLS: cfg.TLS, Proxy: cfg.Proxy,
	})
	if err != nil {
		return nil, fmt.Errorf("http agent: %w", err)
	}
	input, err := cfg.Input.Of(client.Path())
	if err != nil {
		return nil, fmt.Errorf("http agent: %w", err)
	}
	limit := cmp.Or(cfg.MaxResult, defaultMaxResult)
	return &Agent{client: client, judge: httpcall.Judge{Input: input, MaxResult: limit}}, nil
}

// Handle posts the task and waits for the whole answer. When ctx ends, the connection is closed.
func (a *Agent) Handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, error) {
	body, err := a.judge.Input.Body(task)
	if err != nil {
		return nil, &worker.Failure{Err: schemas.AsError(err), Ran: schemas.RanNo}
	}
	emit.Hop(schemas.HopAdapterRequest)
	reply, failure := a.exchange(ctx, task, body)
	if failure != nil {
		return nil, failure
	}
	emit.Hop(schemas.HopAgentDone)
	result, failure := a.judge.Result(task, reply)
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

func (a *Agent) exchange(ctx context.Context, task *worker.Task, body pieces.Message) (*httpcall.Reply, *worker.Failure) {
	answer, failure := a.client.Post(ctx, task, a.client.TaskHeader(task, "application/json"), body)
	if failure != nil {
		return nil, failure
	}
	defer answer.Close()
	return answer.Whole(a.judge.MaxResult)
}

// Health asks the agent's health check, within ctx; an agent without one is taken to be well. Redirects are not followed, and
// credentials go there only if it has the endpoint's origin.
func (a *Agent) Health(ctx context.Context) error { return a.client.Health(ctx, nil) }

// Close lets go of idle connections. Call it when no Handle runs any more.
func (a *Agent) Close() { a.client.Close() }
