package nearest_test

import (
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/nearest"
)

func TestName(t *testing.T) {
	t.Parallel()
	known := []string{"server.port", "server.host", "registry.heartbeat_interval", "log.level"}
	for _, tt := range []struct {
		name, unknown, want string
		ok                  bool
	}{
		{"a letter too many", "server.portt", "server.port", true},
		{"two letters swapped", "server.prot", "server.port", true},
		{"a dash and capitals are no difference", "Registry.heartbeat-interval", "registry.heartbeat_interval", true},
		{"a word left out of a long name", "registry.heartbeat", "registry.heartbeat_interval", true},
		{"nothing like any of them", "colour", "", false},
		{"the empty name", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := nearest.Name(tt.unknown, known)
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("Name(%q) = %q, %v, want %q, %v", tt.unknown, got, ok, tt.want, tt.ok)
			}
		})
	}
}
