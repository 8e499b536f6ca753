//go:build unix

package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// What a later release adds to an envelope goes through this one untouched: to the agent that is given the message, to the dead letter
// when nobody can take it, and to the task that a person makes of that.
func TestWhatALaterReleaseAddsGoesAllTheWay(t *testing.T) {
	t.Parallel()
	const added = `"mood":{"calm":9007199254740993,"of":["a",1.50]}`
	h := newHouse(t)
	asked := make(chan string, 100)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost {
			return
		}
		asked <- string(body)
		if strings.Contains(string(body), `"refuse":true`) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"result":"done"}`)
	}))
	t.Cleanup(agent.Close)
	file := h.write("worker.yaml", fmt.Sprintf("broker: {url: %q}\nagents: [{agent_id: first, "+
		"transport: {type: http, endpoint: %q, input: message}, capabilities: [echo]}]\n", h.url, agent.URL))
	h.program("the worker", "worker", "-f", file).up()

	nc := newNATSCaller(t, h.url)
	submit := func(from caller, refuse bool) (taskID string) {
		t.Helper()
		task, err := from.submit(t.Context(), fmt.Appendf(nil, `{"capability":"echo","payload":{"refuse":%v},%s}`, refuse, added))
		check(t, err)
		if body := <-asked; !strings.Contains(body, added) || !strings.Contains(body, task.TaskID) {
			t.Errorf("the agent was asked %s", body)
		}
		return task.TaskID
	}
	submit(nc, false)
	submit(newHTTPCaller(t, h.fronts[0]), false)

	dead := submit(nc, true)
	brokertest.Eventually(t, "the dead letter", func() bool {
		task, err := nc.get(t.Context(), dead)
		check(t, err)
		return task.DeadLetter
	})
	if record := h.record(dead); !strings.Contains(record, added) {
		t.Errorf("the dead letter is %s", record)
	}
	for len(asked) > 0 { // by its later attempts
		<-asked
	}
	again, err := nc.ask(t.Context(), "task.retry", schemas.MustEncode(schemas.TaskRef{TaskID: dead}))
	check(t, err)
	if body := <-asked; !strings.Contains(body, added) || !strings.Contains(body, again.TaskID) || again.TaskID == dead {
		t.Errorf("the agent was asked %s", body)
	}
}

// record is what the ledger has of an ended task.
func (h *house) record(taskID string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := broker.Connect(ctx, broker.Config{URL: h.url, Logger: zerolog.Nop()})
	check(h.t, err)
	defer conn.Close()
	e, err := conn.Ledger().LastAtLeader(ctx, taskID)
	check(h.t, err)
	return string(e.Body)
}
