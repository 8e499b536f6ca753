//go:build unix

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

func TestATaskIsFoundAtOnceEverywhere(t *testing.T) {
	t.Parallel()
	h := newHouseApart(t, 2)
	h.startWorker(child("children", 2, "echo"))
	ways := h.callers()
	for n := range 60 {
		task, err := ways[n%len(ways)].submit(t.Context(), newOrder("", "echo", fmt.Sprintf(`{"ms":%d}`, n%20)).message)
		check(t, err)
		for at, c := range ways {
			for range 2 { // over NATS whichever dispatcher answers
				if got, err := c.get(t.Context(), task.TaskID); err != nil || got.TaskID != task.TaskID || got.Revision < task.Revision {
					t.Fatalf("task %d, accepted by %d, is not found by %d as it was accepted: %v (%v)", n, n%len(ways), at, got, err)
				}
			}
		}
	}
}

func TestUnknownTasksAreNeverCalledPending(t *testing.T) {
	t.Parallel()
	h := newHouseApart(t, 2)
	h.startWorker(child("children", 2, "echo"))
	wiped := newHouse(t)
	wiped.startWorker(child("children", 2, "echo"))
	before := newOrder("", "echo", `{}`)
	before.place(t.Context(), newRand(t), wiped.callers())
	wiped.broker.kill()
	check(t, os.RemoveAll(wiped.data()))
	wiped.startBroker()

	for name, tt := range map[string]struct {
		h      *house
		taskID string
		status int
		reason string
	}{
		"an id that never was":         {h, schemas.NewTaskID(), http.StatusNotFound, schemas.ReasonUnknownTask},
		"an id from before a new data": {wiped, before.taskID(), http.StatusNotFound, schemas.ReasonUnknownTask},
		"an id past its retention":     {h, oldTaskID(9 * 24 * time.Hour), http.StatusGone, schemas.ReasonExpired},
		"no id at all":                 {h, "task-1", http.StatusBadRequest, schemas.ReasonBadName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range tt.h.callers() {
				for what, ask := range map[string]func(context.Context, string) (*schemas.Task, error){"get": c.get, "cancel": c.cancel} {
					var refused *schemas.Error
					if task, err := ask(t.Context(), tt.taskID); !errors.As(err, &refused) || refused.Reason != tt.reason {
						t.Errorf("%s: got %v, %v, want %s", what, task, err, tt.reason)
					}
				}
			}
			front := newHTTPCaller(t, tt.h.fronts[0])
			for _, path := range []string{"/v1/tasks/%s", "/v1/tasks/%s?wait=5s"} {
				status, answer, err := front.exchange(t.Context(), http.MethodGet, fmt.Sprintf(path, tt.taskID), nil)
				if err != nil || status != tt.status {
					t.Errorf("%s: got status %d, %s, %v, want %d", path, status, answer, err, tt.status)
				}
			}
		})
	}
}

// oldTaskID is the id of a task that was made so long ago.
func oldTaskID(ago time.Duration) string {
	ms := fmt.Sprintf("%012x", time.Now().Add(-ago).UnixMilli())
	return ms[:8] + "-" + ms[8:] + schemas.NewTaskID()[13:]
}
