package httpfront

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// The short forms are what an agent needs that posts itself and answers POST at its address, and a caller that wants one call. Their
// answers have a word for how it went.

// EndpointCard is how an agent registers in one line.
type EndpointCard struct {
	EndpointID   string          `json:"endpoint_id"`
	Transport    string          `json:"transport,omitzero"`
	Address      string          `json:"address"`
	HealthCheck  string          `json:"health_check,omitzero"`
	Version      string          `json:"version,omitzero"`
	Capabilities []schemas.Offer `json:"capabilities"`
	CostWeight   *float64        `json:"cost_weight,omitzero"`
	Metadata     jsontext.Value  `json:"metadata,omitzero"`
}

// EndpointBeat says that it lives.
type EndpointBeat struct {
	EndpointID   string   `json:"endpoint_id"`
	LoadAvg      float64  `json:"load_avg,omitzero"`
	Capabilities []string `json:"capabilities,omitempty"`
}

// Invocation is a task, and all that is wanted of it is its result.
type Invocation struct {
	Capability string          `json:"capability"`
	Payload    schemas.Payload `json:"payload,omitzero"`
}

// ShortAnswer answers all of them: with status ok, working or error.
type ShortAnswer struct {
	Status   string             `json:"status"`
	State    schemas.AgentState `json:"state,omitzero"`
	Data     schemas.Payload    `json:"data,omitzero"`
	Endpoint string             `json:"endpoint,omitzero"`
	TaskID   string             `json:"task_id,omitzero"`
	Message  string             `json:"message,omitzero"`
	Code     schemas.Code       `json:"code,omitzero"`
}

type shortAnswer struct {
	Status int
	Body   *ShortAnswer
	data   io.ReadCloser // nil where it is a part of Body
}

// spokenShort is a short answer that a handler writes itself.
type spokenShort struct{ Body func(huma.Context) }

func (s *server) shortRoutes() {
	add(s, s.operation("shortRegister"), short(s.shortRegister))
	add(s, s.operation("shortHeartbeat"), short(s.shortHeartbeat))
	add(s, s.operation("shortInvoke"), short(s.shortInvoke))
}

// short answers an error in the short form.
func short[I any](do func(context.Context, *I) (*shortAnswer, error)) func(context.Context, *I) (*spokenShort, error) {
	return func(ctx context.Context, in *I) (*spokenShort, error) {
		answer, err := do(ctx, in)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			p := newProblem(err)
			answer = &shortAnswer{p.Status, &ShortAnswer{Status: "error", Message: inShort(p.Detail), Code: p.Code, TaskID: p.TaskID}, nil}
		}
		return &spokenShort{answer.speak}, nil
	}
}

// speak writes the answer; data that is large as it is read.
func (a *shortAnswer) speak(c huma.Context) {
	c.SetHeader("Content-Type", jsonType)
	c.SetStatus(a.Status)
	if a.data != nil {
		defer func() { _ = a.data.Close() }()
	}
	if err := writeWith(c.BodyWriter(), a.Body, "data", a.data); err != nil {
		panic(http.ErrAbortHandler) // the caller must not take the beginning for all of it
	}
}

// shortNames are what the short forms call the fields of the long ones.
var shortNames = map[string]string{"agent_id": "endpoint_id", "transport/endpoint": "address", "transport/type": "transport", "transport/health_check": "health_check"}

// inShort names the field that a refusal begins with as the caller has written it.
func inShort(refusal string) string {
	field, rest, _ := strings.Cut(refusal, " ")
	if name, known := shortNames[field]; known {
		return name + " " + rest
	}
	return refusal
}

func (s *server) shortRegister(ctx context.Context, in *JSON) (*shortAnswer, error) {
	var card EndpointCard
	if err := schemas.Accept(in.RawBody, &card); err != nil {
		return nil, err
	}
	metadata, err := withCost(card.Metadata, card.CostWeight)
	if err != nil {
		return nil, err
	}
	registration, err := front.Registration(schemas.MustEncode(&schemas.Registration{
		AgentID: card.EndpointID, Version: cmp.Or(card.Version, "0.0.0"), Capabilities: card.Capabilities, Metadata: metadata, Adopt: true,
		Transport: schemas.Transport{Type: cmp.Or(card.Transport, "http"), Endpoint: card.Address, HealthCheck: card.HealthCheck},
	}))
	if err != nil {
		return nil, err
	}
	registered, err := s.Service.Register(ctx, registration)
	if err != nil {
		return nil, err
	}
	return &shortAnswer{http.StatusOK, &ShortAnswer{Status: "ok", State: registered.State}, nil}, nil
}

// withCost puts the cost weight into the metadata, where routing looks for it.
func withCost(metadata jsontext.Value, cost *float64) (jsontext.Value, error) {
	if cost == nil {
		return metadata, nil
	}
	all := make(map[string]jsontext.Value)
	if metadata != nil {
		if err := schemas.Decode(metadata, &all); err != nil {
			return nil, schemas.NewError(schemas.InvalidArgument, schemas.ReasonWrongType, "metadata takes an object").With("field", "/metadata")
		}
	}
	all["cost_weight"] = schemas.MustEncode(*cost)
	return schemas.MustEncode(all), nil
}

func (s *server) shortHeartbeat(ctx context.Context, in *JSON) (*shortAnswer, error) {
	var said EndpointBeat
	if err := schemas.Accept(in.RawBody, &said); err != nil {
		return nil, err
	}
	beat := &schemas.Heartbeat{AgentID: said.EndpointID, Capabilities: said.Capabilities, LoadAvg: said.LoadAvg}
	if problem := beat.Check(); problem != nil {
		return nil, problem
	}
	work, err := s.work()
	if err != nil {
		return nil, err
	}
	if _, err := work.Heartbeat(ctx, beat); err != nil {
		return nil, err
	}
	return &shortAnswer{http.StatusOK, &ShortAnswer{Status: "ok"}, nil}, nil
}

// shortInvoke is reach, and tells no more than it has to.
func (s *server) shortInvoke(ctx context.Context, in *submission) (*shortAnswer, error) {
	message, task, err := s.submit(ctx, in, schemas.ModeSync)
	if err != nil {
		return nil, err
	}
	answer, err := s.reached(ctx, in, message, task)
	if err != nil {
		return nil, err
	}
	body := &ShortAnswer{Status: "ok", Data: answer.Body.Result, Endpoint: answer.Body.AgentID, TaskID: answer.Body.TaskID}
	if answer.Status != http.StatusOK {
		body.Status, body.Message = "working", "the task runs on: GET /v1/tasks/"+body.TaskID
	}
	out := &shortAnswer{answer.Status, body, nil}
	if answer.Body.ResultRef != nil {
		_, out.data, err = s.openResult(ctx, answer.Body.TaskID)
	}
	return out, err
}
