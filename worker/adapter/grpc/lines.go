package grpc

import (
	"context"
	"net"
	"strings"
	"sync"
)

// lines are the network connections of an agent, one as a rule, so that one that is dead can be ended: the library cannot be told.
type lines struct {
	mu   sync.Mutex
	open map[*line]struct{}
}

// line is one of them, until it is closed.
type line struct {
	net.Conn
	of *lines
}

func newLines() *lines { return &lines{open: make(map[*line]struct{})} }

// dial knows unix addresses, too.
func (l *lines) dial(dialer *net.Dialer) func(ctx context.Context, address string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		network := "tcp"
		if path, found := strings.CutPrefix(address, "unix:"); found {
			network, address = "unix", strings.TrimPrefix(path, "//")
		}
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		one := &line{conn, l}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open[one] = struct{}{}
		return one, nil
	}
}

// cut ends all connections. What is under way on them fails.
func (l *lines) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for one := range l.open {
		_ = one.Conn.Close()
	}
}

// Close is that of the connection below.
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}
