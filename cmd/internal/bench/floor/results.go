package floor

import (
	"context"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// results wakes those who wait for the result of a task. The last token of a result's subject names its task.
type results struct {
	mu      sync.Mutex
	waiting map[string]chan struct{} // by task
}

func newResults() results { return results{waiting: make(map[string]chan struct{})} }

// expect is to be called before the task is sent.
func (r *results) expect(task string) <-chan struct{} {
	heard := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[task] = heard
	return heard
}

func (r *results) heard(m *nats.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	task := lastToken(m.Subject)
	if result := r.waiting[task]; result != nil {
		delete(r.waiting, task)
		close(result)
	}
}

func lastToken(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// await returns once a result was heard.
func await(ctx context.Context, result <-chan struct{}) error {
	select {
	case <-result:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
