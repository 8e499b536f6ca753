package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/cmd/internal/config"
)

func TestTheSecretsOfCallbacksAreReadAgain(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	file := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(secret)
	var log bytes.Buffer
	c, err := newCallbacks(&config.Callbacks{SecretFile: file}, zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	write("whsec_MARKER")
	c.again()
	write(secret + "\n" + secret)
	c.again()
	said := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(said) != 2 || !strings.Contains(said[0], "those before stay") || !strings.Contains(said[1], "read again") {
		t.Errorf("got %q", said)
	}
	if strings.Contains(log.String(), "MARKER") {
		t.Error("a secret is in the log")
	}
	if _, err := newCallbacks(&config.Callbacks{SecretFile: file + "x"}, zerolog.Nop()); err == nil {
		t.Error("a file that is not there is taken")
	}
	off, err := newCallbacks(&config.Callbacks{}, zerolog.Nop())
	if err != nil || off.sender != nil {
		t.Errorf("callbacks without a secret: %v", err)
	}
}
