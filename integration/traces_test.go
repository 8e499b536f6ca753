//go:build unix

package integration

import (
	"net/http"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// TestATaskContinuesItsCallersTrace names the trace in each way that there is.
func TestATaskContinuesItsCallersTrace(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.startWorker(child("child", 1, "echo"))
	nc, front := newNATSCaller(t, h.url), newHTTPCaller(t, h.fronts[0])
	const (
		mine        = "4bf92f3577b34da6a3ce929d0e0e4736"
		traceparent = "00-" + mine + "-00f067aa0ba902b7-01"
		other       = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	)
	for _, tt := range []struct {
		name, header string
		message      schemas.ReachMessage
		want         string
	}{
		{"a trace_id", "", schemas.ReachMessage{TraceID: mine}, mine},
		{"a traceparent", "", schemas.ReachMessage{Traceparent: traceparent}, mine},
		{"a header", traceparent, schemas.ReachMessage{}, mine},
		{"a header beside another trace_id", traceparent, schemas.ReachMessage{TraceID: other}, other},
	} {
		tt.message.Capability, tt.message.Payload = "echo", []byte(`{}`)
		body := schemas.MustEncode(tt.message)
		reply, err := nc.nc.RequestMsgWithContext(t.Context(), &nats.Msg{
			Subject: "reach.api.task.submit", Header: nats.Header{"traceparent": {tt.header}}, Data: body,
		})
		check(t, err)
		task := new(schemas.Task)
		check(t, schemas.Decode(reply.Data, task))
		if task.TraceID != tt.want {
			t.Errorf("%s over NATS: the task is of trace %q, want %q", tt.name, task.TraceID, tt.want)
		}
		if tt.header != "" {
			continue // of HTTP, shown by its own tests
		}
		if task, err = front.submit(t.Context(), body); err != nil || task.TraceID != tt.want {
			t.Errorf("%s over HTTP: got %+v (%v), want trace %q", tt.name, task, err, tt.want)
		}
	}
	status, answer, err := front.exchange(t.Context(), http.MethodGet, "/v1/traces/"+mine, nil)
	if err != nil || status != http.StatusOK {
		t.Errorf("the trace cannot be found by its id: status %d, %s, %v", status, answer, err)
	}
}
