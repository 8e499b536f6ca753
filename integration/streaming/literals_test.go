//go:build unix

package streaming

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/httpagent"
	"github.com/agentreach/agent-reach/worker/adapter/openai"
	"github.com/agentreach/agent-reach/worker/adapter/sseagent"
	"github.com/agentreach/agent-reach/worker/adapter/subprocess"
)

// ledger is a capability that says much of its numbers, also of those in its chunks.
var ledger = schemas.Capability{
	ID: "ledger", Idempotent: true, InputSchema: figures("big_number"), OutputSchema: figures("big_number"), ChunkSchema: figures("big_number"),
}

func figures(name string) []byte {
	return fmt.Appendf(nil, `{"type":"object","required":[%q],"properties":{%q:{"type":"number"},"all":{"type":"array","items":{"type":"number"}}}}`, name, name)
}

// figure is a payload with every literal that becomes another where it is read as floating point.
func figure(name string) string {
	return `{"` + name + `":9007199254740993,"all":[9223372036854775807,18446744073709551615,-9223372036854775808,0.1,0.10,1.0,1e2,1E+2,-0,-0.0,` +
		`3.141592653589793238462643383279502884197,1e400,1e-400],"text":"\u00e9<b>\/"}`
}

// repeaters are agents on each transport that answers with what it gets, and where it can says it as a chunk, too: in words of its own.
func repeaters(t *testing.T) map[string]worker.Handler {
	t.Helper()
	own := func(agent worker.Handler, err error) worker.Handler {
		check(t, err)
		if closing, ok := agent.(interface{ Close() }); ok {
			t.Cleanup(closing.Close)
		}
		return agent
	}
	serve := func(media, format string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			w.Header().Set("Content-Type", media)
			_, _ = io.WriteString(w, strings.ReplaceAll(format, "%s", string(body)))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"content":%s},"finish_reason":"stop"}]}`, schemas.MustEncode(figure("bigNumber")))
	}))
	t.Cleanup(model.Close)
	self, err := os.Executable()
	check(t, err)
	program := func(keepAlive bool) worker.Handler {
		return own(subprocess.New(subprocess.Config{Command: []string{self}, Env: []string{roleVariable + "=repeater"}, KeepAlive: keepAlive}))
	}
	return map[string]worker.Handler{
		"http":       own(httpagent.New(httpagent.Config{Endpoint: serve("application/json", "%s")})),
		"sse":        own(sseagent.New(sseagent.Config{Endpoint: serve("text/event-stream", "event: chunk\ndata: %s\n\nevent: result\ndata: %s\n\n")})),
		"ndjson":     own(sseagent.New(sseagent.Config{Endpoint: serve("application/x-ndjson", "{\"chunk\":%s}\n{\"result\":%s}\n")})),
		"per-task":   program(false),
		"keep-alive": program(true),
		"openai":     own(openai.New(openai.Config{Endpoint: model.URL, Model: "small", JSON: true})),
	}
}

// chunking are those of the repeaters whose transport carries chunks.
var chunking = map[string]bool{"sse": true, "ndjson": true, "per-task": true, "keep-alive": true}

// Literals arrive as they were written, through transports of every kind, with a contract, with words that are translated, and over every
// way that a result and a chunk are read.
func TestLiteralsGoThroughEveryTransport(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	agents := repeaters(t)
	h.repeat(agents)
	want := figure("big_number")
	for agent := range agents {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			answer := h.post("/v1/reach", `{"capability":"ledger","prefer_agent":"`+agent+`","payload":`+want+`}`)
			if !strings.Contains(answer, `"result":`+want) || !strings.Contains(answer, `"agent_id":"`+agent+`"`) {
				t.Fatalf("over HTTP: %.2000s", answer)
			}
			task, err := h.sdk.Do(within(t), &schemas.ReachMessage{Capability: "ledger", PreferAgent: agent, Payload: schemas.Payload(want)})
			check(t, err)
			if string(task.Result) != want || task.AgentID != agent {
				t.Errorf("over NATS: %s by %s", []byte(task.Result), task.AgentID)
			}
			m := schemas.ReachMessage{Capability: "ledger", PreferAgent: agent, Payload: schemas.Payload(want), ResponseMode: schemas.ModeStream}
			pieces, last := h.follow(0, h.submit(m).TaskID, "0").rest()
			if !chunking[agent] { // one chunk, which is the result, to who is there in time, and a word about it
				pieces = slices.DeleteFunc(pieces, func(piece string) bool { return strings.Contains(piece, schemas.NoticeModeChanged) })
				pieces = append(pieces, chunk(1, 1, want))[:1]
			}
			if diff := cmp.Diff([]string{chunk(1, 1, want)}, pieces); diff != "" || !strings.Contains(last.data, `"result":`+want) {
				t.Errorf("server-sent events (-want +got)\n%s\nand at last %.2000s", diff, last.data)
			}
		})
	}
}

// repeat serves the agents by one worker. Each calls the number in its own way.
func (h *house) repeat(agents map[string]worker.Handler) {
	h.t.Helper()
	cfg := worker.Config{Conn: h.broker.Connect(h.t, func(cfg *broker.Config) { cfg.Name = "repeaters" }), Logger: zerolog.Nop(), DrainTimeout: time.Second}
	for id, handler := range agents {
		cfg.Agents = append(cfg.Agents, worker.Agent{Handler: handler, Registration: schemas.Registration{AgentID: id, Capabilities: []schemas.Offer{{
			ID: "ledger", MaxConcurrency: 4, InputSchema: figures("bigNumber"), OutputSchema: figures("bigNumber"), ChunkSchema: figures("bigNumber"),
		}}}})
	}
	w, err := worker.New(cfg)
	check(h.t, err)
	h.run(w.Run)
	for front := range h.fronts {
		for id := range agents {
			brokertest.Eventually(h.t, "every dispatcher knows "+id, func() bool {
				return strings.Contains(h.get(front, "/v1/agents/"+id, ""), `"state":"online"`)
			})
		}
	}
}

// beRepeater is the program of the repeaters. A line that names a task is one of many.
func beRepeater(string, func()) error {
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		var request struct {
			TaskID  string          `json:"task_id"`
			Payload schemas.Payload `json:"payload"`
		}
		if len(line) > 0 && schemas.Decode(line, &request) == nil {
			name, payload := "", schemas.Payload(line)
			if request.TaskID != "" {
				name, payload = `"task_id":"`+request.TaskID+`",`, request.Payload
			}
			fmt.Printf("{%s\"chunk\":%s}\n{%s\"result\":%s}\n", name, bytes.TrimSpace(payload), name, bytes.TrimSpace(payload))
		}
		if err != nil {
			return nil
		}
	}
}
