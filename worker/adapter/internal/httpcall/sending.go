package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/agentreach/agent-reach/worker/adapter/internal/reason"
)

// countedConn counts what was written. A Write that is under way counts in full: what it has done so far is not known.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

// Write is that of the connection below.
func (c *countedConn) Write(p []byte) (int, error) {
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}

func counted(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: conn}, nil
	}
}

// Sending watches one request: whether any of it went out. A connection that was never made, or was found dead before the first
// byte, leaves the agent untouched. The request has to go over a Transport of this package.
type Sending struct{ over atomic.Pointer[mark] }

// mark is a connection and where it stood when the request got it.
type mark struct {
	conn   *countedConn
	before int64
}

// Watch is ctx for the request that is to be watched.
func (s *Sending) Watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: s.got})
}

func (s *Sending) got(info httptrace.GotConnInfo) {
	conn := info.Conn
	for {
		over, ok := conn.(*tls.Conn)
		if !ok {
			break
		}
		conn = over.NetConn()
	}
	if c, ok := conn.(*countedConn); ok {
		s.over.Store(&mark{c, c.written.Load()})
	}
}

// Any reports whether a byte of the request went out.
func (s *Sending) Any() bool {
	m := s.over.Load()
	return m != nil && m.conn.written.Load() > m.before
}

// Reason is what a network error says, and what to do about it, without the addresses and URLs around it. A cancel of ours is told
// apart before.
func Reason(err error) string {
	if errors.Is(err, context.Canceled) {
		return errSilent.Error()
	}
	return reason.Of(err)
}
