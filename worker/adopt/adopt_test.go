package adopt

import (
	"testing"

	"github.com/agentreach/agent-reach/schemas"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatMakesAnAgentAnother(t *testing.T) {
	t.Parallel()
	said := func(change func(*schemas.Registration)) string {
		r := &schemas.Registration{
			AgentID: "parrot", Version: "1.0.0", Adopt: true, Transport: schemas.Transport{Type: "http", Endpoint: "http://127.0.0.1:9/run"},
			Capabilities: []schemas.Offer{{ID: "echo"}},
		}
		change(r)
		return describe(r)
	}
	same := said(func(*schemas.Registration) {})
	tests := []struct {
		name   string
		change func(*schemas.Registration)
		same   bool
	}{
		{"who serves it", func(r *schemas.Registration) { r.InstanceID = "1" }, true},
		{"what its worker can", func(r *schemas.Registration) { r.LargeBodies = true }, true},
		{"what a dispatcher found of its words", func(r *schemas.Registration) { r.Capabilities[0].Alignment = new(schemas.Alignment) }, true},
		{"where it is", func(r *schemas.Registration) { r.Transport.Endpoint = "http://127.0.0.1:10/run" }, false},
		{"what it can do", func(r *schemas.Registration) { r.Capabilities[0].MaxConcurrency = 2 }, false},
		{"how it is asked whether it is well", func(r *schemas.Registration) { r.Transport.HealthCheck = "http://127.0.0.1:9/healthz" }, false},
	}
	for _, tt := range tests {
		if got := said(tt.change) == same; got != tt.same {
			t.Errorf("%s: the same %v, want %v", tt.name, got, tt.same)
		}
	}
}

func TestAnAdopterNeedsSomebodyWhoDrives(t *testing.T) {
	t.Parallel()
	if err := Run(t.Context(), Config{}); err == nil {
		t.Error("it runs")
	}
}
