package mqttfront_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// shaky is a dispatcher that cannot read results, the first few times that it is asked.
type shaky struct {
	front.Service
	err   error
	times int64
	asked *atomic.Int64
}

func (s shaky) Result(ctx context.Context, tenant, taskID string) (*schemas.Task, io.ReadSeekCloser, error) {
	if s.asked.Add(1) <= s.times {
		return nil, nil, s.err
	}
	return s.Service.Result(ctx, tenant, taskID)
}

// A result that a message carries is sent in one, though it cannot be read at once: whoever speaks MQTT alone has no other way to it.
func TestAResultThatIsNotReadAtOnceIsSentLater(t *testing.T) {
	t.Parallel()
	busy := schemas.NewError(schemas.Unavailable, "", "the broker is slow")
	for _, tt := range []struct {
		name  string
		err   error
		times int64
		apart bool // the device is told where the result is
		asked int64
	}{
		{"a trouble passes", busy, 2, false, 3},
		{"a trouble lasts", busy, 100, true, 5},
		{"the result is gone", fmt.Errorf("read part 0: %w", broker.ErrNotFound), 100, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			h := newHouse(t, 1, func(h *house) {
				h.behind = func(s front.Service) front.Service { return shaky{s, tt.err, tt.times, &asked} }
			})
			result := `"` + strings.Repeat("r", 100_000) + `"`
			server := newPhone(h, "server", func(p *phone) { p.run = func(p *phone, e *errand) { p.finish(e, result) } })
			server.register(serves)
			caller := newPhone(h, "caller")
			caller.submit("a", `{"capability":"echo","payload":1}`)
			end := caller.end("a")
			if apart := end.ResultRef != nil; end.State != schemas.StateCompleted || apart != tt.apart || !apart && string(end.Result) != result {
				t.Errorf("%s, told with a reference: %v, %d bytes", end.State, apart, len(end.Result))
			}
			if got := asked.Load(); got < tt.asked {
				t.Errorf("it was asked for %d times, want %d", got, tt.asked)
			}
		})
	}
}
