package embedded

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/rs/zerolog"
)

// logBridge writes the server's log lines to ours. The server says "fatal" instead of returning an error when it cannot
// start: until ready the first such line is kept in fatal, for Start to return. Its methods run under the server's locks
// and must not call it.
type logBridge struct {
	log   zerolog.Logger
	fatal chan error
	ready atomic.Bool
}

func newLogBridge(log zerolog.Logger) *logBridge {
	return &logBridge{log: log.With().Str("component", "nats-server").Logger(), fatal: make(chan error, 1)}
}

// Noticef is about starting and stopping, which is news to nobody who embeds a server.
func (b *logBridge) Noticef(format string, v ...any) { b.log.Debug().Msgf(format, v...) }

func (b *logBridge) Warnf(format string, v ...any) { b.log.Warn().Msgf(format, v...) }

func (b *logBridge) Errorf(format string, v ...any) { b.log.Error().Msgf(format, v...) }

// Debugf and Tracef are switched off in the server: traces hold payloads.
func (b *logBridge) Debugf(format string, v ...any) { b.log.Trace().Msgf(format, v...) }

func (b *logBridge) Tracef(string, ...any) {}

func (b *logBridge) Fatalf(format string, v ...any) {
	if b.ready.Load() {
		b.log.Error().Msgf(format, v...)
		return
	}
	select {
	case b.fatal <- fatalError(format, v):
	default:
	}
}

// fatalError prefers the network error among the arguments: it says address and reason once, and can be asked with errors.Is.
func fatalError(format string, v []any) error {
	for _, arg := range v {
		err, ok := arg.(error)
		if op := (*net.OpError)(nil); ok && errors.As(err, &op) {
			return op
		}
	}
	return fmt.Errorf(format, v...)
}
