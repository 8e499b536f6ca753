package httpfront

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// Server runs a handler with the timeouts that a front needs: for the header, for a connection at rest, but none for an answer that
// has not begun, which may be a caller's wait.
type Server struct {
	Handler       http.Handler
	Logger        zerolog.Logger
	Insecure      bool          // a listener that other machines can reach is meant
	HeaderTimeout time.Duration // 10 s
	IdleTimeout   time.Duration // 2 min
	Grace         time.Duration // for requests in flight when the server stops, 10 s
}

const maxHeaderBytes = 32 << 10

// ErrExposed is the refusal of a listener that other machines can reach.
var ErrExposed = errors.New("without keys, only this machine may reach the HTTP front; --insecure-listen allows it to all")

// Run serves until ctx ends and every request in flight has been answered, at most for Grace. Whoever waits for a task is answered
// at once, with the task as it stands. The listener is closed in any case.
func (s Server) Run(ctx context.Context, listener net.Listener) error {
	defer listener.Close()
	if !s.Insecure && exposed(listener.Addr()) {
		return fmt.Errorf("serve %s: %w", listener.Addr(), ErrExposed)
	}
	server := s.httpServer(ctx)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	err := s.stop(server)
	<-failed
	return err
}

// stop gives requests in flight the grace, and then breaks their connections.
func (s Server) stop(server *http.Server) error {
	grace, cancel := context.WithTimeout(context.Background(), cmp.Or(s.Grace, 10*time.Second))
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close()
		return fmt.Errorf("stop HTTP front: requests were still in flight: %w", err)
	}
	return nil
}

// httpServer tells each request of the end of ctx, without ending the request by it.
func (s Server) httpServer(ctx context.Context) *http.Server {
	return &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: cmp.Or(s.HeaderTimeout, 10*time.Second),
		IdleTimeout:       cmp.Or(s.IdleTimeout, 2*time.Minute),
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), closingKey{}, ctx)
		},
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		ErrorLog: log.New(errorLog{s.Logger}, "", 0),
	}
}

// connKey is the context key of a request's connection.
type connKey struct{}

// streamBuffer is how many bytes of a stream wait in the connection of a caller that is slow to read: not so many that it would pass
// for one that keeps up.
const streamBuffer = 32 << 10

// shorten bounds what a request's connection takes ahead of its caller.
func shorten(ctx context.Context) {
	conn := ctx.Value(connKey{})
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	if buffered, ok := conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = buffered.SetWriteBuffer(streamBuffer) // without it, a slow caller is noticed later
	}
}

// exposed reports whether more than this machine can reach an address.
func exposed(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

// errorLog takes what net/http says of single connections. It is noise from outside, hence its level.
type errorLog struct{ logger zerolog.Logger }

func (l errorLog) Write(line []byte) (int, error) {
	l.logger.Debug().Str("said", strings.TrimSpace(string(line))).Msg("http")
	return len(line), nil
}
