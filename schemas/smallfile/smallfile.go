// Package smallfile reads files that people name in a configuration: secrets, routes, descriptor sets. Such a file is small; one that
// is not was named by mistake, and may have no end (a device, a pipe, a log). It is refused before it fills the memory.
package smallfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// What files hold at most, by their kind.
const (
	Secret = 64 << 10
	Text   = 8 << 20 // a configuration, a file of routes or agents
	Binary = 64 << 20
)

// Read is the whole content of a file with at most so many bytes. It is read to its end as a stream, so that a pipe may stand in for
// a file, as shells make them.
func Read(path string, most int64) ([]byte, error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("read %s: it has more than %d bytes, which is the most here: is it the right file?", path, most)
	}
	return content, nil
}
