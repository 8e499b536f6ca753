// Package logging makes the one logger of a process. It writes to the error stream: lines for people on a terminal, JSON elsewhere.
// Whatever is logged, personal data and secrets are masked on the way out.
package logging

import (
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/schemas/redact"
)

// New is a logger that writes to w, which terminal says to be watched by a person. Times are in UTC, with milliseconds.
func New(w io.Writer, terminal bool, c config.Log) zerolog.Logger {
	out := redact.Writer(w)
	if c.Format == "console" || c.Format == "auto" && terminal {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: !terminal}
	}
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		level = zerolog.InfoLevel
	}
	return zerolog.New(out).Level(level).Hook(zerolog.HookFunc(stamp))
}

// stamp is zerolog's timestamp in our form, without its global settings.
func stamp(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
}
