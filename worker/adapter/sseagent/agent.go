// Package sseagent makes an agent that streams its answer to an HTTP POST into a worker.Handler: server-sent events, one JSON
// value a line, or plain text as it is written. An agent that answers with one JSON body is served as httpagent would.
//
// What a stream says goes to the worker as it comes. While nobody wants more of it nothing more is read, and the agent waits;
// that time is no silence of the agent's. A stream that breaks off before its end leaves the task's fate unknown: it is never
// opened a second time, since that would be another POST.
//
// An Agent has no goroutines of its own; those of net/http end with Close.
package sseagent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/internal/httpcall"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
	"github.com/agentreach/agent-reach/worker/adapter/internal/transcript"
)

// Input is what an agent is given as the body of a request.
type Input = httpcall.Input

// The inputs.
const (
	InputPayload = httpcall.InputPayload // the bare payload
	InputMessage = httpcall.InputMessage // the ReachMessage
	InputExecute = httpcall.InputExecute // {"capability", "payload", "token", "request_id"}
)

// Config says how to reach one agent. Endpoint alone is needed.
type Config struct {
	Endpoint    string            // where to post, exactly; a user and password in it become basic authentication
	HealthCheck string            // answers 2xx to GET; "" for an agent without one
	Input       Input             // "" goes by the path: …/reach is message, …/execute is execute, all else payload
	Headers     map[string]string // sent with every request, to the origin of Endpoint alone

	Format Format            // "" goes by the answer's Content-Type
	Events map[string]string // names of the agent's events, with the name of ours that each stands for

	ConnectTimeout   time.Duration // for the connection, and again for its TLS; 3 s
	FirstByteTimeout time.Duration // from the request to the first byte of the answer's body; 5 min
	IdleTimeout      time.Duration // longest silence after that; a comment breaks it; 2 min
	MaxEvent         int           // bytes of one event or line, and so of a result; 128 MiB
	MaxConns         int           // open at once; 256

	TLS   *tls.Config
	Proxy func(*http.Request) (*url.URL, error) // nil: none, whatever the environment says
}

const (
	defaultFirstByteTimeout = 5 * time.Minute
	defaultIdleTimeout      = 2 * time.Minute
	defaultMaxEvent         = 128 << 20
)

// Agent is one streaming HTTP agent.
type Agent struct {
	client *httpcall.Client
	judge  httpcall.Judge // of answers that are no stream
	format Format
	events map[string]kind
	max    int
}

var _ worker.Handler = (*Agent)(nil)

// New checks cfg; it does not connect.
func New(cfg Config) (*Agent, error) {
	client, err := httpcall.New(httpcall.Config{
		Endpoint: cfg.Endpoint, HealthCheck: cfg.HealthCheck, Headers: cfg.Headers, ConnectTimeout: cfg.ConnectTimeout,
		FirstByte: cmp.Or(cfg.FirstByteTimeout, defaultFirstByteTimeout), IdleTimeout: cmp.Or(cfg.IdleTimeout, defaultIdleTimeout),
		MaxConns: cfg.MaxConns, TLS: cfg.TLS, Proxy: cfg.Proxy,
	})
	if err != nil {
		return nil, fmt.Errorf("sse agent: %w", err)
	}
	a := &Agent{client: client, format: cfg.Format, events: maps.Clone(names), max: cmp.Or(cfg.MaxEvent, defaultMaxEvent)}
	a.judge.MaxResult = int64(a.max)
	if a.judge.Input, err = cfg.Input.Of(client.Path()); err != nil {
		return nil, fmt.Errorf("sse agent: %w", err)
	}
	return a, a.configure(cfg)
}

func (a *Agent) configure(cfg Config) error {
	if a.max < 0 {
		return errors.New("sse agent: timeouts and limits cannot be negative")
	}
	if !a.format.known() {
		return fmt.Errorf("sse agent: format %q is not sse, ndjson, text or json", string(a.format))
	}
	for theirs, ours := range cfg.Events {
		kind, found := names[ours]
		if !found {
			return fmt.Errorf("sse agent: event %q is %q, not chunk, progress, result, error, done or ignore", theirs, ours)
		}
		a.events[theirs] = kind
	}
	return nil
}

// Handle posts the task and passes on what the agent streams. When ctx ends, the connection is closed.
func (a *Agent) Handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, error) {
	body, err := a.judge.Input.Body(task)
	if err != nil {
		return nil, &worker.Failure{Err: schemas.AsError(err), Ran: schemas.RanNo}
	}
	emit.Hop(schemas.HopAdapterRequest)
	result, failure := a.exchange(ctx, task, emit, body)
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

const accept = "text/event-stream, application/x-ndjson, application/json;q=0.9, */*;q=0.1"

func (a *Agent) exchange(
	ctx context.Context, task *worker.Task, emit worker.Emit, body pieces.Message,
) (schemas.Payload, *worker.Failure) {
	answer, failure := a.client.Post(ctx, task, a.client.TaskHeader(task, accept), body)
	if failure != nil {
		return nil, failure
	}
	defer answer.Close()
	format := cmp.Or(a.format, formatOf(answer.Header.Get("Content-Type")))
	if answer.Status/100 != 2 || answer.Empty() || format == FormatJSON {
		return a.whole(task, emit, answer)
	}
	s := &stream{agent: a, ctx: ctx, task: task, answer: answer, said: transcript.New(task, emit)}
	s.read(format)
	if _, failure := s.said.Outcome(); failure == nil || failure.Ran == schemas.RanYes {
		emit.Hop(schemas.HopAgentDone)
	}
	return s.said.Outcome()
}

// whole is an answer that is no stream.
func (a *Agent) whole(task *worker.Task, emit worker.Emit, answer *httpcall.Answer) (schemas.Payload, *worker.Failure) {
	reply, failure := answer.Whole(a.judge.MaxResult)
	if failure != nil {
		return nil, failure
	}
	emit.Hop(schemas.HopAgentDone)
	return a.judge.Result(task, reply)
}

// Health asks the agent's health check, within ctx; an agent without one is taken to be well.
func (a *Agent) Health(ctx context.Context) error { return a.client.Health(ctx, nil) }

// Close lets go of idle connections. Call it when no Handle runs any more.
func (a *Agent) Close() { a.client.Close() }
