// Package httpfront is the way in over HTTP: tasks, agents, capabilities and traces under /v1, an OpenAPI document at /openapi.json
// and a page that shows it at /docs. It is one client of a front.Service among others and keeps nothing of its own.
//
// Bodies are JSON, read once by package front and handed on literal by literal. Every error is a problem (RFC 9457); the table in
// errors.go is the only place where a code becomes a status. A caller that leaves never ends a task.
//
// No goroutine is started here: a request is served by the one that net/http gave it.
package httpfront

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/rs/zerolog"
)

// Config of the front. Only Service is needed.
type Config struct {
	Service front.Service
	Work    front.Work // for agents that claim their tasks; nil: they cannot
	Logger  zerolog.Logger
	Limits  Limits

	Version     string                          // shown in the documents and by /healthz
	Ready       func(ctx context.Context) error // asked by /readyz; nil: ready as soon as it answers
	Metrics     http.Handler                    // answers /metrics; nil: there is no such path
	WaitMax     time.Duration                   // the longest wait of one request, 60 s
	BodyTimeout time.Duration                   // how long a body may take to arrive, or each MiB of a large one, 30 s
	SendTimeout time.Duration                   // how long an answer, each MiB of it, or one event of a stream may take to be read, 60 s
	KeepAlive   time.Duration                   // how long a stream of events is silent at most, 15 s
}

// Limits bound what one caller can ask of the front.
type Limits struct {
	PayloadBytes int64 // of a payload, 128 MiB
	Requests     int   // served at once, 8192
	Memory       int64 // bytes that large bodies may take while they are dealt with: half of it those that come, half those that go; 256 MiB
}

// EnvelopeBytes is what a body may have beside its payload.
const EnvelopeBytes = 64 << 10

const (
	defaultPayloadBytes = schemas.MaxBody
	defaultMemory       = 2 * schemas.MaxBody
	defaultRequests     = 8192
	readyTimeout        = 2 * time.Second
)

func (c Config) withDefaults() Config {
	c.Limits.PayloadBytes = cmp.Or(c.Limits.PayloadBytes, defaultPayloadBytes)
	c.Limits.Requests = cmp.Or(c.Limits.Requests, defaultRequests)
	c.Limits.Memory = cmp.Or(c.Limits.Memory, defaultMemory)
	c.Version = cmp.Or(c.Version, "dev")
	c.WaitMax = cmp.Or(c.WaitMax, time.Minute)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, 30*time.Second)
	c.SendTimeout = cmp.Or(c.SendTimeout, time.Minute)
	c.KeepAlive = cmp.Or(c.KeepAlive, 15*time.Second)
	return c
}

func (c Config) check() error {
	switch {
	case c.Service == nil:
		return errors.New("config: Service is missing")
	case c.Limits.PayloadBytes < 0 || c.Limits.Requests < 0 || c.Limits.Memory < 0:
		return errors.New("config: Limits are positive")
	case c.WaitMax < 0 || c.BodyTimeout < 0 || c.SendTimeout < 0 || c.KeepAlive < 0:
		return errors.New("config: times are positive")
	}
	return nil
}

// server is the front behind its handler.
type server struct {
	Config
	router *chi.Mux
	api    huma.API

	memory  *memory // for bodies that come
	reading *memory // for those that go
}

// New makes the handler. Server runs it with the timeouts that it counts on.
func New(config Config) (http.Handler, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	s := &server{Config: config, router: chi.NewMux(), memory: newMemory(config.Limits.Memory / 2), reading: newMemory(config.Limits.Memory / 2)}
	s.guards()
	s.api = humachi.New(s.router, humaConfig(config.Version))
	s.taskRoutes()
	s.agentRoutes()
	s.workRoutes()
	s.shortRoutes()
	s.capabilityRoutes()
	s.scheduleRoutes()
	s.routeRoutes()
	s.healthRoutes()
	if s.Metrics != nil {
		s.router.Method(http.MethodGet, "/metrics", s.Metrics)
	}
	if err := s.documentRoutes(); err != nil {
		return nil, fmt.Errorf("make the documents: %w", err)
	}
	return s.router, nil
}

// guards wraps every route; the first stands outermost.
func (s *server) guards() {
	body := bodyBound{
		limit: s.Limits.PayloadBytes + EnvelopeBytes, timeout: s.BodyTimeout, memory: s.memory,
		oversized: s.resultTooLarge,
	}
	s.router.Use(
		watch(s.Logger, s.SendTimeout),
		harden,
		crowd(s.Limits.Requests),
		sameOrigin,
		jsonOnly,
		body.guard,
		onlyPosted,
		middleware.GetHead,
	)
	s.router.NotFound(s.noRoute)
	s.router.MethodNotAllowed(s.noRoute)
}

// noRoute answers what no route is for.
func (s *server) noRoute(w http.ResponseWriter, r *http.Request) {
	methods := strings.Join(s.allowed(r), ", ")
	verb := noSuchVerb(r.URL.Path)
	switch {
	case r.Method == "PRI": // how HTTP/2 begins where it is not agreed upon; what follows can only be misread
		w.Header().Set("Connection", "close")
		refuse(w, schemas.NewError(schemas.Unimplemented, reasonHTTPVersion, "HTTP/2 is not supported: use HTTP/1.1"))
	case verb != nil:
		refuse(w, verb)
	case methods == "":
		refuse(w, schemas.NewError(schemas.NotFound, reasonNoSuchPath, "there is no such path; /docs lists all paths"))
	default:
		refuseMethod(w, methods)
	}
}

// refuseMethod says which methods a path takes.
func refuseMethod(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	refuse(w, schemas.NewError(schemas.Unimplemented, reasonMethod, "this path takes %s", methods))
}

// allowed are the methods of a path.
func (s *server) allowed(r *http.Request) []string {
	var methods []string
	path := cmp.Or(r.URL.RawPath, r.URL.Path)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		if s.router.Match(chi.NewRouteContext(), method, path) {
			methods = append(methods, method)
		}
		if method == http.MethodGet && len(methods) > 0 {
			methods = append(methods, http.MethodHead)
		}
	}
	return methods
}

// tenant decides who the caller is. Where no tenants are configured, everyone is the default one.
func (s *server) tenant(context.Context) string { return schemas.DefaultTenant }

// humaConfig switches off what huma would add to or ask of a message: package schemas alone says what is valid.
func humaConfig(version string) huma.Config {
	format := huma.Format{Marshal: marshal, Unmarshal: schemas.Decode}
	config := huma.DefaultConfig("Agent-Reach", version)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil
	config.AllowAdditionalPropertiesByDefault = true
	humaSchemas(config.Components.Schemas)
	config.Formats = map[string]huma.Format{jsonType: format, "json": format}
	config.DefaultFormat = jsonType
	return config
}

// marshal leaves it at that when the caller is no longer there to take the answer.
func marshal(w io.Writer, v any) error {
	b, err := schemas.Encode(v)
	if err != nil {
		return err
	}
	_, _ = w.Write(b)
	return nil
}

// add registers an operation. Bodies and parameters are checked by our own code alone, and every error becomes a problem.
func add[I, O any](s *server, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	op.SkipValidateBody = true
	op.SkipValidateParams = true
	op.MaxBodyBytes = -1 // the guard bounds a body, in size and in time
	op.BodyReadTimeout = s.BodyTimeout
	defer s.documentBody(&op, any(new(I)))()
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, op.OperationID, err)
		}
		return out, nil
	})
}

// documentBody keeps huma from what it makes of a body; what we say of it stands once the operation is registered.
func (s *server) documentBody(op *huma.Operation, input any) (afterwards func()) {
	document := op.RequestBody
	if document == nil {
		return func() {}
	}
	if _, isUpload := input.(interface{ upload() }); isUpload {
		op.RequestBody = nil // huma reads every body that it knows of
		return func() { s.api.OpenAPI().Paths[op.Path].Post.RequestBody = document }
	}
	content := document.Content[jsonType] // huma documents a raw body as bytes
	return func() { document.Content[jsonType] = content }
}

// addTask is add for an operation that answers with a task.
func addTask[I any](s *server, op huma.Operation, handle func(context.Context, *I) (*taskAnswer, error)) {
	add(s, op, func(ctx context.Context, in *I) (*spokenAnswer, error) {
		answer, err := handle(ctx, in)
		return s.speak(ctx, answer, err)
	})
}

// problem is what a caller hears of err. What it does not hear is logged.
func (s *server) problem(ctx context.Context, operation string, err error) *problem {
	if ctx.Err() != nil {
		return newProblem(schemas.NewError(schemas.Cancelled, "", "the caller left before the answer came"))
	}
	p := newProblem(err)
	var known *schemas.Error
	if !errors.As(err, &known) && !errors.As(err, new(*problem)) {
		s.Logger.Error().Err(err).Str("operation", operation).Msg("request failed")
	}
	return p
}
