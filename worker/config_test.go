package worker

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// What is promised in numbers holds for whoever runs a worker and names none.
func TestWhatCountsWhereNobodySaysOtherwise(t *testing.T) {
	t.Parallel()
	c := Config{}.withDefaults()
	for _, tt := range []struct {
		name      string
		got, want time.Duration
	}{
		{"between heartbeats", c.HeartbeatInterval, 15 * time.Second},
		{"between receipts of what runs", c.ReceiptInterval, 15 * time.Second},
		{"between two messages of receipts", c.ReceiptAfter, 500 * time.Millisecond},
		{"for the end of a pull", c.PullTimeout, 5 * time.Second},
		{"for an agent to stop after its run limit", c.StopGrace, 10 * time.Second},
		{"for an agent to confirm a cancel", c.CancelWait, 5 * time.Second},
		{"for a slot, before a task goes back", c.ExcessWait, 100 * time.Millisecond},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if c.ResultLimit != 128<<20 {
		t.Errorf("a result may have %d bytes", c.ResultLimit)
	}
}

func TestABadConfigurationIsAnError(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	good := func() Config {
		return Config{Conn: conn, Agents: []Agent{{Registration: *registrationOf(1), Handler: echo}}}
	}
	tests := []struct {
		name   string
		change func(*Config)
		says   string // empty: it is fine
	}{
		{"the least that is needed", func(*Config) {}, ""},
		{"no connection", func(c *Config) { c.Conn = nil }, "connection"},
		{"no agent", func(c *Config) { c.Agents = nil }, "agent"},
		{"an agent twice", func(c *Config) { c.Agents = append(c.Agents, c.Agents[0]) }, "twice"},
		{"no handler", func(c *Config) { c.Agents[0].Handler = nil }, "handler"},
		{"an illegal name", func(c *Config) { c.Agents[0].Registration.AgentID = "a.b" }, "agent_id"},
		{"no capability", func(c *Config) { c.Agents[0].Registration.Capabilities = nil }, "capabilities"},
		{"an illegal capability", func(c *Config) { c.Agents[0].Registration.Capabilities[0].ID = ">" }, "capability"},
		{"metadata that is no JSON", func(c *Config) { c.Agents[0].Registration.Metadata = jsontext.Value(`{"a"`) }, "metadata takes JSON"},
		{"results of less than nothing", func(c *Config) { c.ResultLimit = -1 }, "not negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := good()
			tt.change(&cfg)
			_, err := New(cfg)
			if tt.says == "" && err != nil {
				t.Errorf("New: %v", err)
			}
			if tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("New: %v, want something about %s", err, tt.says)
			}
		})
	}
}

func TestAWorkerRunsOnce(t *testing.T) {
	t.Parallel()
	w, err := New(Config{
		Conn: brokertest.New(t).Conn(t), Agents: []Agent{{Registration: *registrationOf(1), Handler: echo}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Errorf("the first run: %v", err)
	}
	if err := w.Run(ctx); err == nil {
		t.Error("it ran again")
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"0.84 0.60 0.50 1/123 4567\n": 0.42, "": 0, "nonsense": 0, "-1 0 0": 0, "NaN": 0, "inf": 0, "3": 1.5,
	} {
		if got := parseLoad(text, 2); math.Abs(got-want) > 1e-9 {
			t.Errorf("parseLoad(%q) is %v, want %v", text, got, want)
		}
	}
	if got := parseLoad("1 1 1", 0); got != 1 {
		t.Errorf("no cores: %v", got)
	}
}

func TestBackoffGrows(t *testing.T) {
	t.Parallel()
	b := backoff{first: 50 * time.Millisecond, most: 2 * time.Second}
	for _, full := range []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000} {
		full *= time.Millisecond
		if got := b.next(); got < full/2 || got > full {
			t.Errorf("a delay of %v, want between half of %v and all of it", got, full)
		}
	}
	b.reset()
	if got := b.next(); got > 50*time.Millisecond {
		t.Errorf("after a reset: %v", got)
	}
}

func TestALifetimeIsMeasuredOnTheDispatchersClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	stored := now.Add(-5 * time.Hour) // this machine is ahead
	tests := []struct {
		name    string
		expires time.Time
		stored  time.Time
		want    time.Duration
	}{
		{"by the time of storing", stored.Add(time.Hour), stored, time.Hour},
		{"by this clock where there is no other", now.Add(time.Hour), time.Time{}, time.Hour},
		{"a moment at least", stored.Add(-time.Hour), stored, time.Second},
		{"a day where nothing is said", time.Time{}, stored, unboundLife},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &schemas.ReachMessage{ExpiresAt: schemas.At(tt.expires)}
			if got := lifetime(m, tt.stored, now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzReadAssignment(f *testing.F) {
	id := schemas.NewTaskID()
	f.Add([]byte(`{"task_id":"`+id+`","capability":"echo","payload":1,"assignment":{"idempotent":true}}`), uint64(1))
	f.Add([]byte(`{"task_id":"`+id+`"`), uint64(2))
	f.Add([]byte(`[]`), uint64(0))
	r := registrationOf(1)
	f.Fuzz(func(t *testing.T, body []byte, sequence uint64) {
		e := broker.Entry{
			TaskID: id, Phase: schemas.PhaseAssigned, Capability: "echo", Agent: "laptop-1", Body: body, Sequence: sequence,
		}
		a := readAssignment(e, r, time.Now())
		if a != nil && (a.taskID() != id || a.capability() != "echo" || a.message.Assignment == nil || a.first != sequence) {
			t.Errorf("read %+v", a)
		}
	})
}
