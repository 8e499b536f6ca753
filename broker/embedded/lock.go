package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

const lockName = "broker.lock"

// directoryLock keeps a directory to one server: two would corrupt each other's streams, and the server itself does not
// look. The kernel releases it when the process dies, however it dies.
type directoryLock struct {
	file *flock.Flock
}

// lockDirectory creates the directory if need be and takes it, or says who has it.
func lockDirectory(dir string) (*directoryLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create broker directory: %w", err)
	}
	path := filepath.Join(dir, lockName)
	file := flock.New(path, flock.SetPermissions(0o600))
	taken, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock broker directory %s: %w", dir, err)
	}
	if !taken {
		return nil, fmt.Errorf("broker directory %s is in use by %s: stop that broker, connect to it, or choose another directory",
			dir, holder(path))
	}
	// Only for the message above; the lock holds without it.
	_ = os.WriteFile(path, []byte(fmt.Sprintf("process %d\n", os.Getpid())), 0o600)
	return &directoryLock{file: file}, nil
}

func holder(path string) string {
	text, err := os.ReadFile(path)
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return "another process"
}

func (l *directoryLock) release() { _ = l.file.Unlock() }
