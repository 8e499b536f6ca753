// Package openai makes a language model behind a chat-completions endpoint, as OpenAI, vLLM, Ollama, llama.cpp and many others
// have one, into a worker.Handler. Templates make the messages out of a task's payload, and the result out of what the model
// wrote; or the model writes JSON itself, and that is the result.
//
// What the model writes goes to the worker piece by piece, as texts, unless it is JSON, whose pieces mean nothing. The key of the
// endpoint is read from its file or variable for each request, stands in no configuration, and never shows: not in an error, even
// if the endpoint repeats it.
//
// An Agent has no goroutines of its own; those of net/http end with Close.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/redact"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/internal/httpcall"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

// Config says which model to ask, and how. Endpoint and Model are needed.
type Config struct {
	Endpoint    string            // such as https://api.openai.com/v1; /chat/completions is added unless it ends so
	Model       string            // its name at the endpoint
	HealthCheck string            // answers 2xx to GET; "" for none
	Headers     map[string]string // sent with every request, to the origin of Endpoint alone
	APIKeyFile  string            // holds the key; read for each request
	APIKeyEnv   string            // the variable that holds the key, where there is no file

	// System and Prompt are templates (text/template) over the payload: {{.text}} is a field of it, which is nothing where it is
	// absent, and {{json .}} is all of it. Without a Prompt the payload itself is what the model is told: its messages if it has
	// any, a text as it is, anything else as JSON.
	System, Prompt string

	// Result is JSON whose strings are templates over Text, Model, FinishReason, Usage and Payload: {"summary": "{{.Text}}"}.
	// Without it the text is the result.
	Result jsontext.Value

	JSON      bool                      // the model is told to write JSON, which is the result
	Options   map[string]jsontext.Value // further members of the request, such as temperature
	NoStream  bool                      // the endpoint cannot stream
	Truncated bool                      // an answer that ends at the model's limit is a result, too

	ConnectTimeout   time.Duration // for the connection, and again for its TLS; 3 s
	FirstByteTimeout time.Duration // from the request to the first byte of the answer's body; 5 min
	IdleTimeout      time.Duration // longest silence after that; 2 min
	MaxResult        int           // bytes of what the model writes; 16 MiB
	MaxConns         int           // open at once; 256

	TLS   *tls.Config
	Proxy func(*http.Request) (*url.URL, error) // nil: none, whatever the environment says
}

const (
	defaultFirstByteTimeout = 5 * time.Minute
	defaultIdleTimeout      = 2 * time.Minute
	defaultMaxResult        = 16 << 20
)

// Agent is one model.
type Agent struct {
	client *httpcall.Client
	cfg    Config
	key    secret
	prompt *prompt
	result *mapping // nil: the text
}

var _ worker.Handler = (*Agent)(nil)

// New checks cfg and its templates; it does not connect.
func New(cfg Config) (*Agent, error) {
	a, err := newAgent(cfg)
	if err != nil {
		return nil, fmt.Errorf("openai agent: %w", err)
	}
	return a, nil
}

func newAgent(cfg Config) (*Agent, error) {
	cfg.MaxResult = cmp.Or(cfg.MaxResult, defaultMaxResult)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	endpoint, err := completions(cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, key: secret{file: cfg.APIKeyFile, variable: cfg.APIKeyEnv}}
	if a.prompt, err = newPrompt(cfg.System, cfg.Prompt); err != nil {
		return nil, err
	}
	if a.result, err = newMapping(cfg.Result); err != nil {
		return nil, err
	}
	a.client, err = httpcall.New(httpcall.Config{
		Endpoint: endpoint, HealthCheck: cfg.HealthCheck, Headers: cfg.Headers, ConnectTimeout: cfg.ConnectTimeout,
		FirstByte: cmp.Or(cfg.FirstByteTimeout, defaultFirstByteTimeout), IdleTimeout: cmp.Or(cfg.IdleTimeout, defaultIdleTimeout),
		MaxConns: cfg.MaxConns, TLS: cfg.TLS, Proxy: cfg.Proxy,
	})
	return a, err
}

func (c *Config) check() error {
	switch {
	case c.Model == "":
		return errors.New("no model")
	case c.MaxResult < 0:
		return errors.New("timeouts and limits cannot be negative")
	case c.JSON && c.Result != nil:
		return errors.New("json and result exclude each other: what the model writes is the result, or goes into one")
	case c.APIKeyFile != "" && c.APIKeyEnv != "":
		return errors.New("the key has a file and a variable: name one")
	}
	for name, value := range c.Options {
		if owned[name] {
			return fmt.Errorf("option %q is set by the worker itself", name)
		}
		if err := schemas.Scan(value); err != nil {
			return fmt.Errorf("option %q is no JSON: %w", name, err)
		}
	}
	return nil
}

// Handle asks the model and passes on what it writes. When ctx ends, the connection is closed.
func (a *Agent) Handle(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, error) {
	body, failure := a.request(task)
	if failure != nil {
		return nil, failure
	}
	key, err := a.key.read()
	if err != nil {
		e := schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "the key of the model's endpoint cannot be read")
		return nil, &worker.Failure{Err: e, Ran: schemas.RanNo}
	}
	emit.Hop(schemas.HopAdapterRequest)
	result, failure := a.exchange(ctx, task, emit, body, key)
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

const accept = "text/event-stream, application/json"

func (a *Agent) exchange(
	ctx context.Context, task *worker.Task, emit worker.Emit, body []byte, key string,
) (schemas.Payload, *worker.Failure) {
	header := a.client.TaskHeader(task, accept)
	authorize(header, key)
	answer, failure := a.client.Post(ctx, task, header, pieces.Of(body))
	if failure != nil {
		return nil, failure
	}
	defer answer.Close()
	if answer.Status/100 != 2 {
		return nil, refused(task, answer, key)
	}
	w := &writing{agent: a, ctx: ctx, task: task, emit: emit, answer: answer}
	if failure := w.read(); failure != nil {
		return nil, failure
	}
	emit.Hop(schemas.HopAgentDone)
	return w.conclude()
}

// refused is an answer whose status says that the call failed. A key that it repeats is taken out.
func refused(task *worker.Task, from *httpcall.Answer, key string) *worker.Failure {
	reply, failure := from.Whole(defaultMaxResult)
	if failure != nil {
		return failure
	}
	if key != "" {
		reply.Body = bytes.ReplaceAll(reply.Body, []byte(key), []byte(redact.Masked))
	}
	failure = reply.Refused(task.Offer.ErrorMapping)
	var code string
	if failure.Err.Detail("agent_code", &code); code == "context_length_exceeded" {
		failure.Err.Reason = ReasonContextLength
	}
	return failure
}

// Health asks the endpoint's health check, within ctx; one without is taken to be well.
func (a *Agent) Health(ctx context.Context) error {
	key, err := a.key.read()
	if err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	header := make(http.Header)
	authorize(header, key)
	return a.client.Health(ctx, header)
}

// Close lets go of idle connections. Call it when no Handle runs any more.
func (a *Agent) Close() { a.client.Close() }
