package sseagent_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/sseagent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mediaTypes are what an agent calls its format.
var mediaTypes = map[sseagent.Format]string{
	sseagent.FormatSSE: "text/event-stream; charset=utf-8", sseagent.FormatNDJSON: "application/x-ndjson",
}

func TestBothFormatsPassTheSuite(t *testing.T) {
	for format := range mediaTypes {
		for _, input := range []sseagent.Input{sseagent.InputPayload, sseagent.InputMessage} {
			t.Run(string(format)+" "+string(input), func(t *testing.T) {
				adaptertest.Run(t, adaptertest.Subject{
					Streams: true,
					Start: func(t *testing.T, max int, via adaptertest.Via) adaptertest.Agent {
						return startAgent(t, format, input, max, via)
					},
				})
			})
		}
	}
}

func startAgent(t *testing.T, format sseagent.Format, input sseagent.Input, max int, via adaptertest.Via) adaptertest.Agent {
	server := adaptertest.Serve(t, "127.0.0.1:0", obedient(format, input))
	address := server.Listener.Addr().String()
	agent := newAgent(t, sseagent.Config{Endpoint: "http://" + via(address), Input: input, MaxEvent: max})
	return adaptertest.Agent{Handler: agent, Restart: func() {
		again := adaptertest.Again(t, server.Listener)
		server.CloseClientConnections()
		server.Close()
		server = adaptertest.ServeOn(t, again, obedient(format, input))
	}}
}

// newAgent is the adapter, with short timers where cfg has none.
func newAgent(t *testing.T, cfg sseagent.Config) *sseagent.Agent {
	t.Helper()
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 20 * time.Second
	}
	agent, err := sseagent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	return agent
}

// obedient is the agent of the suite behind a stream.
func obedient(format sseagent.Format, input sseagent.Input) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		payload, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if input != sseagent.InputPayload {
			var outer struct {
				Payload schemas.Payload `json:"payload"`
			}
			if err := schemas.Decode(payload, &outer); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			payload = outer.Payload
		}
		w.Header().Set("Content-Type", mediaTypes[format])
		say := &voice{w, format}
		say.flush()
		if err := adaptertest.Obey(r.Context(), r.Header.Get("Reach-Task-Id"), payload, say); err != nil {
			say.Error("INVALID_ARGUMENT", err.Error(), nil)
		}
	}
}

// voice writes events, or the same as lines.
type voice struct {
	w      http.ResponseWriter
	format sseagent.Format
}

func (v *voice) say(name string, value []byte) {
	defer v.flush()
	if v.format == sseagent.FormatNDJSON {
		_, _ = fmt.Fprintf(v.w, "{%q:%s}\n", name, value)
		return
	}
	_, _ = fmt.Fprintf(v.w, "event: %s\ndata: %s\n\n", name, bytes.ReplaceAll(value, []byte("\n"), []byte("\ndata: ")))
}

func (v *voice) flush() { _ = http.NewResponseController(v.w).Flush() }

func (v *voice) Result(value []byte) { v.say("result", value) }

func (v *voice) Error(code, message string, details []byte) {
	v.say("error", adaptertest.ErrorBody(code, message, details))
}

func (v *voice) Chunk(value []byte) { v.say("chunk", value) }

func (v *voice) Progress(fraction float64, message string) {
	v.say("progress", fmt.Appendf(nil, `{"fraction":%g,"message":%q}`, fraction, message))
}

func (v *voice) Garbage(text string) {
	if v.format == sseagent.FormatNDJSON {
		_, _ = fmt.Fprintln(v.w, text)
		return
	}
	v.say("result", []byte(text))
}

func (v *voice) Break() { breakOff(v.w, "data: half") }

// breakOff says a few bytes of a body and closes the connection.
func breakOff(w http.ResponseWriter, text string) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(buffered, "%x\r\n%s\r\n", len(text), text)
	_ = buffered.Flush()
	_ = conn.Close()
}
