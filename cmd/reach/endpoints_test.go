package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

func TestEndpointsAreWrittenWholeAndRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := (endpoints{HTTP: "http://127.0.0.1:8500", NATS: "nats://127.0.0.1:4222"}).publish(dir); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "endpoints.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got endpoints
	if err := schemas.Decode(content, &got); err != nil {
		t.Fatal(err)
	}
	if got.PID != os.Getpid() || got.NATS != "nats://127.0.0.1:4222" || got.StartedAt.IsZero() {
		t.Errorf("got %s", content)
	}
	for range 2 { // removing what is not there is no error
		if err := withdrawEndpoints(dir); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
