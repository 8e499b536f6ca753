package embedded

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A server that could not write to its disk once, because that was full, writes nothing more until it is started again, and says so to
// nobody who publishes. So it is looked at, shut down as soon as that has happened, which clients do understand, and started again
// when the disk takes something.
const (
	lookEvery = time.Second
	wantRoom  = 4 << 20 // bytes that the disk must take before the server is started again
)

// mend looks after the server until ctx ends.
func (s *Server) mend(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	down := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !down {
			down = s.giveUp()
			continue
		}
		down = !s.takeUp(ctx)
	}
}

// giveUp shuts the server down if it cannot write, and reports whether it did.
func (s *Server) giveUp() bool {
	ns := s.running.Load()
	fault := writeError(ns.Healthz(&server.HealthzOptions{Details: true}))
	if fault == "" {
		return false
	}
	s.cfg.Logger.Error().Str("data", s.cfg.Dir).Str("fault", fault).
		Msg("the broker cannot write to its disk: it is down until it can, and tries on; nothing that was accepted is lost")
	shutDown(ns)
	return true
}

// writeError is what a server says that cannot write; empty if it can, whatever else it has to say.
func writeError(health *server.HealthStatus) string {
	for _, e := range health.Errors {
		if strings.Contains(e.Error, "write error") {
			return e.Error
		}
	}
	return ""
}

// takeUp starts the server again if the disk takes something, and reports whether it runs.
func (s *Server) takeUp(ctx context.Context) bool {
	if err := tryDisk(s.cfg.Dir); err != nil {
		return false
	}
	ns, _, err := start(ctx, s.cfg)
	if err != nil {
		s.cfg.Logger.Error().Err(err).Msg("the broker cannot start again; it is tried again")
		return false
	}
	s.running.Store(ns)
	s.cfg.Logger.Info().Msg("the broker can write to its disk again: it is up")
	return true
}

// tryDisk writes and removes a file, as far as the disk itself.
func tryDisk(dir string) error {
	file, err := os.CreateTemp(dir, "room-*")
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	if _, err := file.Write(make([]byte, wantRoom)); err != nil {
		return err
	}
	return file.Sync()
}

func shutDown(ns *server.Server) {
	ns.Shutdown()
	ns.WaitForShutdown()
}
