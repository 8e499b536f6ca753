package dispatcher

import (
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// A leader that was away may say that nobody knows a key which somebody has. A message whose time has passed is not refused on its word.
func TestALateRepeatIsToldFromALateMessage(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	d, err := New(conn, Config{Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	now, taken := time.Now(), schemas.NewTaskID()
	if _, err := conn.Keys().Create(t.Context(), "taken", broker.KeyRecord{TaskID: taken, Fingerprint: "this"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	expired := schemas.NewError(schemas.InvalidArgument, schemas.ReasonExpired, "too late")
	tests := []struct {
		name      string
		unseen    key
		expiredAt time.Time
		taskID    string // what the message goes on with; empty: with its own
		reason    string
	}{
		{"a repeat of what was in time", key{name: "taken", fingerprint: "this"}, now.Add(-time.Minute), taken, schemas.ReasonExpired},
		{"another body", key{name: "taken", fingerprint: "that"}, now.Add(-time.Minute), "", schemas.ReasonKeyReused},
		{"one that nobody has sent before", key{name: "free", fingerprint: "this"}, now.Add(-time.Minute), "", schemas.ReasonExpired},
		{"the same again", key{name: "free", fingerprint: "this"}, now.Add(-time.Minute), "", schemas.ReasonExpired},
		{"one that is older than any key", key{name: "taken", fingerprint: "this"}, now.Add(-48 * time.Hour), "", schemas.ReasonExpired},
	}
	for _, tt := range tests {
		own := schemas.NewTaskID()
		m := &schemas.ReachMessage{
			Capability: "echo", MsgID: "a", Tenant: schemas.DefaultTenant, TaskID: own, SubmittedAt: schemas.At(now),
			ExpiresAt: schemas.At(tt.expiredAt), ForgetAt: schemas.At(tt.expiredAt.Add(24 * time.Hour)),
		}
		err := d.late(t.Context(), m, &tt.unseen, expired)
		if got := schemas.AsError(err); got.Reason != tt.reason {
			t.Errorf("%s: got %v", tt.name, err)
		}
		if want := tt.taskID; want != "" && (m.TaskID != want || tt.unseen.record.TaskID != want) || want == "" && m.TaskID != own {
			t.Errorf("%s: it goes on as %s", tt.name, m.TaskID)
		}
	}
	if _, err := conn.Keys().Get(t.Context(), "free"); !errors.Is(err, broker.ErrNotFound) {
		t.Errorf("what was asked for is taken: %v", err)
	}
	if _, err := conn.Keys().Create(t.Context(), "free", broker.KeyRecord{TaskID: taken}, time.Hour); err != nil {
		t.Errorf("what was asked for is not free: %v", err)
	}
}
