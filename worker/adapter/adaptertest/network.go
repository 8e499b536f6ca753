package adaptertest

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// network is what lies between an adapter and its agent. While the agent's host has vanished, connections stay open and nothing comes
// through; once it is back, those from before stay dead, and new ones reach it.
type network struct {
	listener net.Listener
	agent    string
	closing  chan struct{}
	relays   sync.WaitGroup

	mu       sync.Mutex
	vanished bool
	gone     chan struct{} // closed when the host vanishes; of the connections since it was last there
	conns    []net.Conn
}

// newNetwork leads to the agent's address, until the test ends.
func newNetwork(t *testing.T, agent string) *network {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{listener: listener, agent: agent, closing: make(chan struct{}), gone: make(chan struct{})}
	n.relays.Go(n.accept)
	t.Cleanup(n.close)
	return n
}

func (n *network) close() {
	close(n.closing)
	_ = n.listener.Close()
	n.mu.Lock()
	for _, conn := range n.conns {
		_ = conn.Close()
	}
	n.mu.Unlock()
	n.relays.Wait()
}

func (n *network) vanish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.vanished = true
	close(n.gone)
}

func (n *network) comeBack() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.vanished, n.gone = false, make(chan struct{})
}

func (n *network) accept() {
	for {
		near, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.connect(near)
	}
}

// connect joins a connection to one of the agent's. While the host is not there it is left open.
func (n *network) connect(near net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = append(n.conns, near)
	if n.vanished {
		return
	}
	far, err := net.Dial("tcp", n.agent)
	if err != nil {
		_ = near.Close()
		return
	}
	n.conns = append(n.conns, far)
	gone := n.gone
	n.relays.Go(func() { n.relay(near, far, gone) })
	n.relays.Go(func() { n.relay(far, near, gone) })
}

// relay passes on what comes and that no more comes, unless the host has vanished.
func (n *network) relay(from, to net.Conn, gone <-chan struct{}) {
	piece := make([]byte, 32<<10)
	for {
		read, err := from.Read(piece)
		select {
		case <-gone:
			<-n.closing
			return
		default:
		}
		if read > 0 {
			_, _ = to.Write(piece[:read])
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			_ = to.(*net.TCPConn).CloseWrite()
			return
		default:
			_ = to.Close()
			return
		}
	}
}
