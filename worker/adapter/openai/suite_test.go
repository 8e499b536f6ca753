package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryFormPassesTheSuite(t *testing.T) {
	for name, cfg := range map[string]openai.Config{
		"streamed": {JSON: true}, "whole": {JSON: true, NoStream: true}, "a streamed text": {},
	} {
		t.Run(name, func(t *testing.T) {
			adaptertest.Run(t, adaptertest.Subject{
				Streams: !cfg.JSON, Text: !cfg.JSON, Held: 9,
				Start: func(t *testing.T, max int, via adaptertest.Via) adaptertest.Agent {
					return startAgent(t, cfg, max, via)
				},
			})
		})
	}
}

func startAgent(t *testing.T, cfg openai.Config, max int, via adaptertest.Via) adaptertest.Agent {
	server := adaptertest.Serve(t, "127.0.0.1:0", obedient)
	address := server.Listener.Addr().String()
	cfg.Endpoint, cfg.MaxResult = "http://"+via(address), max
	agent := newAgent(t, cfg)
	return adaptertest.Agent{Handler: agent, Restart: func() {
		again := adaptertest.Again(t, server.Listener)
		server.CloseClientConnections()
		server.Close()
		server = adaptertest.ServeOn(t, again, obedient)
	}}
}

// newAgent is the adapter, with short timers and a model where cfg has none.
func newAgent(t *testing.T, cfg openai.Config) *openai.Agent {
	t.Helper()
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 20 * time.Second
	}
	if cfg.Model == "" {
		cfg.Model = "small"
	}
	agent, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	return agent
}

// asked is a request as an endpoint reads it.
type asked struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// obedient is an endpoint whose model does what the last message orders.
func obedient(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var request asked
	var order string
	if json.Unmarshal(body, &request) != nil || json.Unmarshal(request.Messages[len(request.Messages)-1].Content, &order) != nil {
		http.Error(w, "no such request", http.StatusBadRequest)
		return
	}
	say := &voice{w: w, stream: request.Stream}
	if err := adaptertest.Obey(r.Context(), r.Header.Get("Reach-Task-Id"), []byte(order), say); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// voice writes as a model, in several pieces where the answer is streamed.
type voice struct {
	w      http.ResponseWriter
	stream bool
}

func (v *voice) Result(value []byte) { v.write(string(value)) }

func (v *voice) write(text string) {
	if !v.stream {
		v.w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(v.w, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},`+
			`"finish_reason":"stop"}],"usage":{"total_tokens":7}}`, schemas.MustEncode(text))
		return
	}
	v.w.Header().Set("Content-Type", "text/event-stream")
	half := len(text) / 2
	for half > 0 && text[half]&0xc0 == 0x80 {
		half--
	}
	delta(v.w, text[:half])
	delta(v.w, text[half:])
	_, _ = io.WriteString(v.w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// delta writes one piece.
func delta(w http.ResponseWriter, text string) {
	_, _ = fmt.Fprintf(w, `data: {"object":"chat.completion.chunk","model":"small-1","choices":[{"index":0,"delta":{"content":%s},`+
		`"finish_reason":null}]}`+"\n\n", schemas.MustEncode(text))
	_ = http.NewResponseController(w).Flush()
}

func (v *voice) Error(code, message string, details []byte) {
	v.w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(v.w, `{"error":%s}`, adaptertest.ErrorBody(code, message, details))
}

func (v *voice) Garbage(text string) { v.write(text) }

func (v *voice) Break() {
	v.w.Header().Set("Content-Type", "text/event-stream")
	delta(v.w, "half")
	panic(http.ErrAbortHandler)
}

func (v *voice) Chunk(value []byte) {
	if v.stream {
		v.w.Header().Set("Content-Type", "text/event-stream")
		delta(v.w, string(value))
	}
}

func (v *voice) Progress(float64, string) {}
