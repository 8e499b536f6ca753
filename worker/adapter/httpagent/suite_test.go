package httpagent_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/httpagent"
)

func TestEveryInputPassesTheSuite(t *testing.T) {
	for _, input := range []httpagent.Input{httpagent.InputPayload, httpagent.InputMessage, httpagent.InputExecute} {
		t.Run(string(input), func(t *testing.T) {
			adaptertest.Run(t, adaptertest.Subject{
				Start: func(t *testing.T, maxResult int, via adaptertest.Via) adaptertest.Agent {
					return startAgent(t, input, maxResult, via)
				},
			})
		})
	}
}

func startAgent(t *testing.T, input httpagent.Input, maxResult int, via adaptertest.Via) adaptertest.Agent {
	server := adaptertest.Serve(t, "127.0.0.1:0", obedient(input))
	address := server.Listener.Addr().String()
	agent := newAgent(t, httpagent.Config{Endpoint: "http://" + via(address), Input: input, MaxResult: int64(maxResult)})
	return adaptertest.Agent{Handler: agent, Restart: func() {
		again := adaptertest.Again(t, server.Listener)
		server.CloseClientConnections()
		server.Close()
		server = adaptertest.ServeOn(t, again, obedient(input))
	}}
}

// newAgent is the adapter, with short timers where cfg has none.
func newAgent(t *testing.T, cfg httpagent.Config) *httpagent.Agent {
	t.Helper()
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 20 * time.Second
	}
	agent, err := httpagent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	return agent
}

// obedient is the agent of the suite behind HTTP.
func obedient(input httpagent.Input) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		payload := body
		if input != httpagent.InputPayload {
			var outer struct {
				Payload schemas.Payload `json:"payload"`
			}
			if err := schemas.Decode(body, &outer); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			payload = outer.Payload
		}
		if err := adaptertest.Obey(r.Context(), r.Header.Get("Reach-Task-Id"), payload, &voice{w, input}); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

type voice struct {
	w     http.ResponseWriter
	input httpagent.Input
}

func (v *voice) Result(value []byte) {
	if v.input == httpagent.InputPayload {
		_, _ = v.w.Write(value)
		return
	}
	_, _ = fmt.Fprintf(v.w, `{"result": %s}`, value)
}

func (v *voice) Error(code, message string, details []byte) {
	_, _ = fmt.Fprintf(v.w, `{"error": %s}`, adaptertest.ErrorBody(code, message, details))
}

func (v *voice) Garbage(text string) { _, _ = io.WriteString(v.w, text) }

func (v *voice) Break() { breakOff(v.w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":") }

func (v *voice) Chunk([]byte) {}

func (v *voice) Progress(float64, string) {}

// breakOff says a few bytes of an answer and closes the connection.
func breakOff(w http.ResponseWriter, bytes string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, bytes)
	_ = conn.Close()
}
