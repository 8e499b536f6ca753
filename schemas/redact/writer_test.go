package redact_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/schemas/redact"
)

func TestWriterMasksEachLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	n, err := io.WriteString(redact.Writer(&out), "{\"a\":13800138000}\nplain token=abc\nno end x@y.org")
	if want := "{\"a\":\"***\"}\nplain token=***\nno end ***"; out.String() != want || n != 48 || err != nil {
		t.Errorf("wrote %q, %d, %v", out.String(), n, err)
	}
}

func TestWriterUnderZerolog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := zerolog.New(redact.Writer(&out))
	log.Info().Str("task_id", "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10").Str("token", "abc").Int("phone", 13800138000).
		Err(errors.New(`dial nats://u:p@host: {"password":"x y"}`)).Msg("for jo@example.org")
	want := `{"level":"info","task_id":"01a226bf-4900-7b1e-9d54-0f6a3f1f8a10","token":"***","phone":"***",` +
		`"error":"dial nats://***@host: {\"password\":\"***\"}","message":"for ***"}` + "\n"
	if out.String() != want {
		t.Errorf("\n got %s\nwant %s", out.String(), want)
	}
}

func TestWriterUnderZerologsConsole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := zerolog.New(zerolog.ConsoleWriter{Out: redact.Writer(&out), TimeFormat: "-"})
	log.Info().Str("token", "abc").Int("phone", 13800138000).Msg("for jo@example.org")
	for _, secret := range []string{"abc", "13800138000", "jo@example.org"} {
		if bytes.Contains(out.Bytes(), []byte(secret)) {
			t.Errorf("%s is seen in %q", secret, out.String())
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriterPassesErrorsOn(t *testing.T) {
	t.Parallel()
	if _, err := redact.Writer(brokenWriter{}).Write([]byte("x\n")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}
