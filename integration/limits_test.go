//go:build unix

package integration

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// sized is a payload of exactly so many bytes.
func sized(bytes int) string { return `{"text":"` + strings.Repeat("x", bytes-11) + `"}` }

func TestWhatIsAcceptedCanBeCarried(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.startWorker(child("child", 2, "echo"), h.startHTTPAgent("server", 2, "echo"))
	w := newWitness(t, h.url)
	for _, way := range h.callers() {
		largest := largestAccepted(t, way)
		t.Logf("%T: the largest payload has %d bytes", way, largest)
		for _, agent := range []string{"child", "server"} {
			m := ask("echo", sized(largest))
			m.PreferAgent = agent
			m.MsgID = fmt.Sprintf("%T %s %s", way, agent, strings.Repeat("k", 200))
			m.Metadata = []byte(`{"a":"` + strings.Repeat("m", 8<<10) + `"}`)
			m.Tags = []string{strings.Repeat("t", schemas.MaxTagBytes), strings.Repeat("u", schemas.MaxTagBytes)}
			m.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
			task, err := way.submit(t.Context(), schemas.MustEncode(m))
			if refusedForSize(err) {
				t.Logf("%T: it is refused with metadata: %v", way, err)
				continue
			}
			check(t, err)
			result := w.result(task.TaskID)
			if got := h.whole(result); result.State != schemas.StateCompleted || got != sized(largest) {
				t.Errorf("%T by %s: got %s with %d bytes and %v", way, agent, result.State, len(got), result.Error)
			}
		}
	}
}

// whole is the result of a task, wherever it is kept.
func (h *house) whole(task *schemas.Task) string {
	h.t.Helper()
	if task.ResultRef == nil {
		return string(task.Result)
	}
	response, err := http.Get(h.fronts[0] + "/v1/tasks/" + task.TaskID + "/result")
	check(h.t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	check(h.t, err)
	return string(body)
}

// largestAccepted is the size of the largest payload that is taken, found by bisection; everything above is refused for its size.
func largestAccepted(t *testing.T, way caller) int {
	t.Helper()
	accepted, refused := 100, 4<<20
	for refused-accepted > 1 {
		size := (accepted + refused) / 2
		_, err := way.submit(t.Context(), schemas.MustEncode(ask("echo", sized(size))))
		switch {
		case err == nil:
			accepted = size
		case refusedForSize(err):
			refused = size
		default:
			t.Fatalf("a payload of %d bytes: %v", size, err)
		}
	}
	return accepted
}

// refusedForSize reports whether the house, or the client's own library, has named the limit.
func refusedForSize(err error) bool {
	var e *schemas.Error
	if errors.As(err, &e) {
		var limit int
		return e.Reason == schemas.ReasonPayloadTooLarge && !e.Retryable && e.Detail("limit_bytes", &limit) && limit > 0
	}
	return errors.Is(err, nats.ErrMaxPayload)
}

func TestAResultThatIsTooLargeEndsItsTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.startWorker(child("child", 2, "echo"), h.startHTTPAgent("server", 2, "echo"))
	w := newWitness(t, h.url)
	front := newHTTPCaller(t, h.fronts[0])
	limit := 0
	_, err := front.submit(t.Context(), schemas.MustEncode(ask("echo", sized(2_100_000))))
	if e := schemas.AsError(err); e == nil || !e.Detail("limit_bytes", &limit) {
		t.Fatalf("the limit is not named: %v", err)
	}
	for _, agent := range []string{"child", "server"} {
		for _, bytes := range []int{limit - 200, limit - 1, limit, limit + 1, 10 * limit} {
			m := ask("echo", fmt.Sprintf(`{"bytes":%d}`, bytes))
			m.PreferAgent = agent
			task, err := front.submit(t.Context(), schemas.MustEncode(m))
			check(t, err)
			result := w.result(task.TaskID)
			switch {
			case result.State == schemas.StateCompleted && len(h.whole(result)) == bytes && bytes <= limit:
			case result.Error != nil && result.Error.Reason == schemas.ReasonResultTooLarge && bytes > limit:
			default:
				t.Errorf("%d bytes of %s (limit %d): got %s with %d bytes and %v",
					bytes, agent, limit, result.State, len(result.Result), result.Error)
			}
			if n := effectsOf(readEffects(t, h.effects))[task.TaskID]; n != 1 {
				t.Errorf("%d bytes of %s: it was executed %d times", bytes, agent, n)
			}
		}
	}
}
