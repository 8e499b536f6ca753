package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// endpoints tells other programs of this machine where to find a running broker and its fronts: a file in its folder.
type endpoints struct {
	PID       int          `json:"pid"`
	Version   string       `json:"version"`
	HTTP      string       `json:"http,omitzero"`
	NATS      string       `json:"nats"`
	MQTT      string       `json:"mqtt,omitzero"`
	StartedAt schemas.Time `json:"started_at"`
}

const endpointsFile = "endpoints.json"

// publish writes the file by rename, so that nobody reads half of it.
func (e endpoints) publish(dir string) error {
	e.PID, e.Version, e.StartedAt = os.Getpid(), version, schemas.At(time.Now())
	path := filepath.Join(dir, endpointsFile)
	if err := os.WriteFile(path+".new", append(schemas.MustEncode(e), '\n'), 0o600); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	return nil
}

// withdrawEndpoints removes the file: nobody is there, or no longer.
func withdrawEndpoints(dir string) error {
	if err := os.Remove(filepath.Join(dir, endpointsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove endpoints: %w", err)
	}
	return nil
}
