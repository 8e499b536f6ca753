package websocket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"

	ws "github.com/coder/websocket"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/httpcall"
)

// dialer makes connections to one agent.
type dialer struct {
	cfg      Config
	endpoint *url.URL // without its user
	header   http.Header
}

func newDialer(cfg Config) (*dialer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, errors.New("endpoint is not an absolute ws or wss URL") // which may hold a password
	}
	header, err := httpcall.Headers(cfg.Headers, u.User)
	if err != nil {
		return nil, err
	}
	header.Set("User-Agent", "agent-reach")
	u.User, u.Fragment = nil, ""
	return &dialer{cfg: cfg, endpoint: u, header: header}, nil
}

// line is a network connection that counts what goes over it: while anything does, the other side lives.
type line struct {
	net.Conn
	read, written atomic.Int64
}

// Read is that of the connection below.
func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.read.Add(int64(n))
	return n, err
}

// Write is that of the connection below. One that is under way counts in full: what it has done so far is not known.
func (l *line) Write(p []byte) (int, error) {
	l.written.Add(int64(len(p)))
	n, err := l.Conn.Write(p)
	l.written.Add(int64(n - len(p)))
	return n, err
}

// dial makes one connection. A transport of its own knows which network connection is below.
func (d *dialer) dial(ctx context.Context) (*socket, *worker.Failure) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.ConnectTimeout)
	defer cancel()
	var below *line
	transport := &http.Transport{
		Proxy: d.cfg.Proxy, TLSClientConfig: d.cfg.TLS,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			below = &line{Conn: conn}
			return below, nil
		},
	}
	defer transport.CloseIdleConnections()
	conn, resp, err := ws.Dial(ctx, d.endpoint.String(), &ws.DialOptions{
		HTTPClient: &http.Client{Transport: transport, CheckRedirect: stay}, HTTPHeader: d.header, Host: d.header.Get("Host"),
		Subprotocols: d.cfg.Subprotocols,
	})
	if err == nil {
		conn.SetReadLimit(-1) // the reader has its own, which ends one task and not all of them
		return newSocket(d.cfg, conn, below), nil
	}
	return nil, d.notConnected(resp, err)
}

// stay follows no redirect: it could lead anywhere, with our headers.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// notConnected is the failure of a handshake: what the status says, if there was one. No task was sent.
func (d *dialer) notConnected(resp *http.Response, err error) *worker.Failure {
	if resp == nil {
		return answer.Unreached("cannot reach %s: %s", d.endpoint.Host, httpcall.Reason(err))
	}
	reply := &httpcall.Reply{Status: resp.StatusCode, Header: resp.Header}
	if resp.Body != nil {
		reply.Body, _ = io.ReadAll(resp.Body)
	}
	if resp.StatusCode < 400 {
		e := schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect,
			"%s does not speak WebSocket: it answered %s; is the path of the endpoint right?", d.endpoint.Host, httpcall.StatusLine(resp.StatusCode))
		return &worker.Failure{Err: e.With("agent_status", resp.StatusCode), Ran: schemas.RanNo}
	}
	failure := reply.Refused(nil)
	failure.Err.Message = fmt.Sprintf("%s refused the connection: %s", d.endpoint.Host, failure.Err.Message)
	failure.Ran = schemas.RanNo
	return failure
}
