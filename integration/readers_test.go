//go:build unix

package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// TestAReaderThatLeavesDoesNotEndTheTask has callers leave in the middle of their wait, each in another way.
func TestAReaderThatLeavesDoesNotEndTheTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.startWorker(child("children", 4, "echo"), h.startHTTPAgent("server", 4, "test_run"))
	w := newWitness(t, h.url)
	for _, capability := range []string{"echo", "test_run"} {
		payload := `{"ms":700,"command":"go test"}`
		for name, leave := range map[string]func(t *testing.T, h *house, taskID string, message []byte){
			"of a sync call": func(t *testing.T, h *house, _ string, m []byte) { abandon(t, h, "POST", "/v1/reach?wait=30s", m) },
			"of a submit":    func(t *testing.T, h *house, _ string, m []byte) { abandon(t, h, "POST", "/v1/tasks?wait=30s", m) },
			"of a wait over HTTP": func(t *testing.T, h *house, id string, _ []byte) {
				abandon(t, h, "GET", "/v1/tasks/"+id+"?wait=30s", nil)
			},
			"of its events": func(t *testing.T, h *house, id string, _ []byte) {
				abandon(t, h, "GET", "/v1/tasks/"+id+"/events", nil)
			},
			"by half":              closeHalf,
			"of a wait over NATS":  abandonNATS,
			"with its connection":  abandonConnection,
			"before it is replied": abandonSubmit,
		} {
			t.Run(capability+" "+name, func(t *testing.T) {
				t.Parallel()
				o := newOrder("left "+capability+" "+name, capability, payload)
				task, err := newNATSCaller(t, h.url).submit(t.Context(), o.message)
				check(t, err)
				leave(t, h, task.TaskID, o.message)
				result := w.result(task.TaskID)
				if result.State != schemas.StateCompleted {
					t.Errorf("the task is %s: %v", result.State, result.Error)
				}
				if n := effectsOf(readEffects(t, h.effects))[task.TaskID]; n != 1 {
					t.Errorf("it was executed %d times", n)
				}
				for _, c := range h.callers() { // a new reader
					if got, err := c.get(t.Context(), task.TaskID); err != nil || lasting(got) != lasting(result) {
						t.Errorf("a new reader sees %v (%v)", got, err)
					}
				}
			})
		}
	}
}

// brief is how long those who leave stay.
const brief = 200 * time.Millisecond

// tellsTheEnd reports whether the task has ended before anybody could leave: the machine has much else to do.
func tellsTheEnd(answer []byte) bool { return bytes.Contains(answer, []byte(`"state":"completed"`)) }

// abandon is a client that closes its connection while it waits for the answer.
func abandon(t *testing.T, h *house, method, path string, message []byte) {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), brief)
	defer leave()
	status, answer, err := newHTTPCaller(t, h.fronts[0]).exchange(ctx, method, path, message)
	if err == nil && !tellsTheEnd(answer) {
		t.Errorf("it did not wait: status %d, %s", status, answer)
	}
}

// closeHalf is a client that has nothing more to say and still listens.
func closeHalf(t *testing.T, h *house, taskID string, _ []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.fronts[0], "http://"))
	check(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /v1/tasks/%s?wait=30s HTTP/1.1\r\nHost: localhost\r\n\r\n", taskID)
	check(t, err)
	check(t, conn.(*net.TCPConn).CloseWrite())
	_ = conn.SetReadDeadline(time.Now().Add(brief))
	_, _ = io.ReadAll(conn)
}

func abandonNATS(t *testing.T, h *house, taskID string, _ []byte) {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), brief)
	defer leave()
	ref := schemas.MustEncode(schemas.TaskRef{TaskID: taskID, WaitMS: 30_000})
	if reply, err := newNATSCaller(t, h.url).nc.RequestWithContext(ctx, "reach.api.task.wait", ref); err == nil && !tellsTheEnd(reply.Data) {
		t.Errorf("it did not wait: %s", reply.Data)
	}
}

func abandonConnection(t *testing.T, h *house, taskID string, _ []byte) {
	t.Helper()
	nc := newNATSCaller(t, h.url).nc
	ref := schemas.MustEncode(schemas.TaskRef{TaskID: taskID, WaitMS: 30_000})
	check(t, nc.PublishRequest("reach.api.task.wait", nc.NewInbox(), ref))
	check(t, nc.FlushTimeout(10*time.Second))
	nc.Close()
}

// abandonSubmit says the same again and does not even listen.
func abandonSubmit(t *testing.T, h *house, _ string, message []byte) {
	t.Helper()
	nc := newNATSCaller(t, h.url).nc
	check(t, nc.Publish("reach.api.task.submit", message))
	check(t, nc.FlushTimeout(10*time.Second))
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.fronts[0], "http://"))
	check(t, err)
	const head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
	_, err = fmt.Fprintf(conn, "%s%d\r\n\r\n%s", head, len(message), message)
	check(t, err)
	check(t, conn.Close())
}
