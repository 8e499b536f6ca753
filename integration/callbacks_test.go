//go:build unix

package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

const callbackSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// callee is where callbacks go. It holds its answers back until it is let go.
type callee struct {
	url  string
	open chan struct{}

	mu      sync.Mutex
	told    map[string]string // bodies by webhook-id
	arrived int
	faults  []string
}

func newCallee(t testing.TB) *callee {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(callbackSecret)
	check(t, err)
	c := &callee{open: make(chan struct{}), told: make(map[string]string)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.take(r.Header.Get("webhook-id"), string(body), verifier.Verify(body, r.Header))
		select {
		case <-c.open:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *callee) take(id, body string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrived++
	if err != nil {
		c.faults = append(c.faults, err.Error())
	}
	if before, found := c.told[id]; found && before != body {
		c.faults = append(c.faults, fmt.Sprintf("%s is told differently:\n%s\n%s", id, before, body))
	}
	c.told[id] = body
}

func (c *callee) count() (arrived, told int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arrived, len(c.told)
}

// post submits a task at a front.
func (h *house) post(front, body string) string {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, front+"/v1/tasks", bytes.NewBufferString(body))
	check(h.t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	check(h.t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	check(h.t, err)
	var task schemas.Task
	if check(h.t, schemas.Decode(answer, &task)); response.StatusCode != http.StatusAccepted {
		h.t.Fatalf("%d %s", response.StatusCode, answer)
	}
	return task.TaskID
}

// A dispatcher is killed in the middle of calls that it makes; the other one makes them, and all that were still to come.
func TestTheCallbacksOfAKilledDispatcherAreMadeByAnother(t *testing.T) {
	t.Parallel()
	const tasks = 30
	c := newCallee(t)
	h := emptyHouse(t)
	h.write("secret", "# of this test\n"+callbackSecret+"\n")
	h.write("reach.yaml", configuration+"callbacks: {secret_file: secret, allow: [127.0.0.0/8], timeout: 30s, backoff: 200ms}\n")
	h.broker = h.program("the broker", "broker", "--data", h.data(), "--nats", address(h.url))
	h.startBroker()
	for range 2 {
		h.addDispatcher(h.url).start()
	}
	for _, d := range h.dispatchers {
		d.until("dispatcher up")
	}
	h.startWorker(child("parrot", 4, "echo"))
	submitted := make(map[string]bool)
	for i := range tasks {
		body := fmt.Sprintf(`{"capability":"echo","payload":{"n":%d},"callback":%q}`, i, c.url+"/hook")
		submitted[h.post(h.fronts[1], body)] = true
	}
	brokertest.Eventually(t, "both dispatchers are calling", func() bool { arrived, _ := c.count(); return arrived >= 2 })
	h.dispatchers[0].kill()
	close(c.open)
	brokertest.Eventually(t, "everything is told", func() bool { _, told := c.count(); return told == tasks })
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, fault := range c.faults {
		t.Error(fault)
	}
	for id := range c.told {
		if !submitted[id] {
			t.Errorf("%s was never submitted", id)
		}
	}
	t.Logf("%d calls for %d tasks", c.arrived, tasks)
}
