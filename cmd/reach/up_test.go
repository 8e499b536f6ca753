package main

import (
	"net"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/broker/embedded"
)

// TestUpSaysWhatIsTaken has a port that is taken in each place, and a folder that is.
func TestUpSaysWhatIsTaken(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	taken, folder := listener.Addr().String(), t.TempDir()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	const free = "127.0.0.1:0"
	tests := []struct{ name, data, http, nats, mqtt, want string }{
		{"the port of the HTTP front", t.TempDir(), taken, free, free, "choose another address with --http"},
		{"the port of the broker", t.TempDir(), free, taken, free, "choose another address with --nats"},
		{"the port of the MQTT listener", t.TempDir(), free, free, taken, "choose another address with --mqtt"},
		{"the folder, and all ports with it", folder, taken, taken, taken, "is in use by process"},
	}
	for _, tt := range tests {
		args := []string{"up", "--data", tt.data, "--http", tt.http, "--nats", tt.nats, "--mqtt", tt.mqtt}
		if code, _, stderr := commandLine(t, []string{"HOME=/nowhere"}, args...); code == 0 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d: %s", tt.name, code, stderr)
		}
	}
}
