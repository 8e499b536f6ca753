package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
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

// sending watches one request: whether any of it went out. A connection that was never made, or was found dead before the first
// byte, leaves the agent untouched.
type sending struct{ over atomic.Pointer[mark] }

// mark is a connection and where it stood when the request got it.
type mark struct {
	conn   *countedConn
	before int64
}

func (s *sending) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: s.got})
}

func (s *sending) got(info httptrace.GotConnInfo) {
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

func (s *sending) any() bool {
	m := s.over.Load()
	return m != nil && m.conn.written.Load() > m.before
}

// Reason is what a network error says, without the addresses and URLs around it.
func Reason(err error) string {
	var dns *net.DNSError
	var number syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.As(err, &number):
		return number.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return errSilent.Error()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
