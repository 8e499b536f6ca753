package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/schemas"
)

// maxPayload bounds what is read into memory; what a dispatcher takes is its own to say, and less.
const maxPayload = 128 << 20

// readPayload reads the value of -d: JSON itself, @FILE, or - for standard input.
func readPayload(data string, stdin io.Reader) (schemas.Payload, error) {
	raw, err := payloadBytes(data, stdin)
	if err != nil {
		return nil, exit.UsageError("-d: %s", err)
	}
	if err := schemas.Scan(raw); err != nil {
		problem := schemas.AsError(err)
		problem.Message = "-d: " + problem.Message
		return nil, problem
	}
	return raw, nil
}

func payloadBytes(data string, stdin io.Reader) ([]byte, error) {
	if data == "-" {
		return readAtMost(stdin)
	}
	path, named := strings.CutPrefix(data, "@")
	if !named {
		return []byte(data), nil
	}
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	defer func() { _ = file.Close() }()
	return readAtMost(file)
}

func readAtMost(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxPayload+1))
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	if len(raw) > maxPayload {
		return nil, errors.New("the payload is larger than 128 MiB")
	}
	return raw, nil
}
