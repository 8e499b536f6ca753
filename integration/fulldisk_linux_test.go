package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// smallDisk has the house keep its data in a file system that holds little.
func (h *house) smallDisk(bytes int) {
	h.t.Helper()
	check(h.t, os.MkdirAll(h.data(), 0o700))
	if err := syscall.Mount("tmpfs", h.data(), "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		h.t.Skipf("a small disk needs the right to mount one: %v", err)
	}
	h.t.Cleanup(func() {
		h.broker.kill()
		_ = syscall.Unmount(h.data(), syscall.MNT_DETACH)
	})
}

// The disk fills up under the broker while tasks run, and gets room again. New tasks are refused as such that may be tried again, what
// was accepted ends, once, and nobody has to start anything again.
func TestAFullDiskRefusesAndLosesNothing(t *testing.T) {
	t.Parallel()
	h := emptyHouse(t)
	front := brokertest.FreeAddress(t)
	h.fronts = []string{"http://" + front}
	h.broker = h.program("reach up", "up", "--data", h.data(), "--nats", address(h.url), "--http", front)
	h.dispatchers = []*process{h.broker}
	h.smallDisk(64 << 20)
	h.startBroker()
	h.startWorker(child("stats", 2, "echo", "test_run"))
	w := newWitness(t, h.url)
	way := newHTTPCaller(t, h.fronts[0])
	var orders []*order
	place := func(n int) error {
		o := newOrder(fmt.Sprintf("full-%d", n), "test_run", fmt.Sprintf(`{"ms":300,"command":%q}`, strings.Repeat("x", 8<<10)))
		orders = append(orders, o)
		return o.once(t, way)
	}
	for n := range 20 {
		check(t, place(n))
	}
	ballast := filepath.Join(h.data(), "ballast")
	fill(t, ballast)
	err := error(nil)
	for n := 20; err == nil; n++ {
		err = place(n)
	}
	if e := schemas.AsError(err); e.Code != schemas.Unavailable && e.Code != schemas.ResourceExhausted || !e.Retryable {
		t.Errorf("a task that does not fit on the disk is refused with %v", err)
	}
	brokertest.Eventually(t, "the word that nothing is accepted", func() bool { return way.status(t, "/readyz") == http.StatusServiceUnavailable })
	check(t, os.Remove(ballast))
	brokertest.Eventually(t, "the word that all is well", func() bool { return way.status(t, "/readyz") == http.StatusOK })
	for _, o := range orders {
		if o.taskID() == "" {
			brokertest.Eventually(t, "an answer to the repeat of "+o.key, func() bool { return o.once(t, way) == nil })
		}
	}
	p := h.prove(w, orders)
	for id, task := range p.ended {
		if task.State != schemas.StateCompleted {
			t.Errorf("task %s is %s with %v: %s", id, task.State, task.Error, p.story(id))
		}
	}
	h.broker.kill()
	h.startBroker()
	p.again()
}

// once submits an order, and waits as long as a front may take to say no.
func (o *order) once(t testing.TB, way caller) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	task, err := way.submit(ctx, o.message)
	if err == nil {
		o.tasks[task.TaskID] = true
	}
	return err
}

// status is 0 where nobody answers.
func (c *httpCaller) status(t testing.TB, path string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), oneTry)
	defer cancel()
	status, _, _ := c.exchange(ctx, http.MethodGet, path, nil)
	return status
}

// fill leaves no room on a disk.
func fill(t testing.TB, path string) {
	t.Helper()
	file, err := os.Create(path)
	check(t, err)
	defer file.Close()
	for chunk := 1 << 20; chunk > 0; {
		if _, err := file.Write(make([]byte, chunk)); err != nil {
			chunk /= 2
		}
	}
}
