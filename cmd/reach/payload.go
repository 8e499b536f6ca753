package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/schemas"
)

// readPayload reads the value of -d: JSON itself, @FILE, or - for standard input.
func readPayload(data string, stdin io.Reader) (schemas.Payload, error) {
	raw, err := payloadBytes(data, stdin)
	var tooLarge *schemas.Error
	switch {
	case errors.As(err, &tooLarge):
		return nil, tooLarge
	case err != nil:
		return nil, exit.UsageError("-d: %s", err)
	}
	if err := schemas.Scan(raw); err != nil {
		problem := schemas.AsError(err)
		problem.Message = "-d: " + problem.Message + adviceFor(raw)
		return nil, problem
	}
	return raw, nil
}

// adviceFor says how what is no JSON at all is sent nevertheless.
func adviceFor(raw []byte) string {
	switch text := bytes.TrimSpace(raw); {
	case len(text) > 0 && strings.IndexByte("{[\"", text[0]) >= 0:
		return ""
	case utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0:
		return `; a payload is JSON: put text in quotes, as -d '"some text"', or make a string of a file with jq -Rs . FILE | reach … -d -`
	}
	return `; a payload is JSON: send a recording or picture as base64 in a member of an object, as ` +
		`printf '{"audio":"%s"}' "$(base64 -w0 FILE)" | reach … -d -`
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

// readAtMost reads what a house may take; of what it certainly does not take it only finds out how much it is.
func readAtMost(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, schemas.MaxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	if len(raw) <= schemas.MaxBody {
		return raw, nil
	}
	more, err := io.Copy(io.Discard, r)
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	size := int64(len(raw)) + more
	return nil, schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge,
		"-d: the payload has %d bytes; at most %d are accepted", size, schemas.MaxBody).
		With("size_bytes", size).With("limit_bytes", schemas.MaxBody).With("field", "/payload")
}
