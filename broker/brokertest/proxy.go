package brokertest

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Always is a count without end.
const Always = -1

// Relay is a TCP proxy between clients and a broker. It passes everything until told otherwise. Its methods may be called
// from any goroutine of the test. Of each connection two goroutines of the Relay carry one direction each.
type Relay struct {
	target   string
	listener net.Listener
	carry    func(*Relay, *link) // what the server says
	running  sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	links     map[*link]struct{}
	open      chan struct{} // closed while traffic may pass
	left      int           // replies still to be swallowed; Always is negative
	swallows  func(reply) bool
	swallowed int
}

// Proxy starts a Relay to a broker, given by its URL or address.
func Proxy(t testing.TB, target string) *Relay {
	t.Helper()
	return newRelay(t, target, (*Relay).carryReplies)
}

// Tunnel starts a Relay to a listener of any protocol; it swallows nothing.
func Tunnel(t testing.TB, target string) *Relay {
	t.Helper()
	return newRelay(t, target, (*Relay).carryBytes)
}

func newRelay(t testing.TB, target string, carry func(*Relay, *link)) *Relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("start proxy: %v", err)
	}
	p := &Relay{
		target:   address(target),
		listener: listener,
		carry:    carry,
		links:    make(map[*link]struct{}),
		open:     make(chan struct{}),
	}
	close(p.open)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func address(url string) string { return strings.TrimPrefix(url, "nats://") }

// URL is where clients connect to go through the proxy. The broker's other addresses are kept from them.
func (p *Relay) URL() string { return "nats://" + p.listener.Addr().String() }

// SwallowAcks loses the next n acknowledgements of stored messages, of the named streams only if any are named: the write
// is there and its writer does not learn of it. Refusals pass. It replaces what was to be swallowed before; 0 ends it.
func (p *Relay) SwallowAcks(n int, streams ...string) {
	p.swallow(n, func(r reply) bool { return r.stored() && r.of(streams) })
}

// SwallowReplies loses the next n answers to publishes, refusals as well as acknowledgements. Otherwise as SwallowAcks.
func (p *Relay) SwallowReplies(n int, streams ...string) {
	p.swallow(n, func(r reply) bool { return r.of(streams) })
}

func (p *Relay) swallow(n int, which func(reply) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.swallows = n, which
}

// Swallowed counts the replies lost so far.
func (p *Relay) Swallowed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.swallowed
}

// Cut closes every connection. New ones are accepted.
func (p *Relay) Cut() {
	p.mu.Lock()
	cut := p.links
	p.links = make(map[*link]struct{})
	p.mu.Unlock()
	for l := range cut {
		l.close()
	}
}

// Pause holds all traffic, both ways and new connections too; nothing is lost and nobody sees a disconnect.
func (p *Relay) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.paused() {
		p.open = make(chan struct{})
	}
}

// Resume lets the held traffic go on.
func (p *Relay) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused() {
		close(p.open)
	}
}

func (p *Relay) paused() bool {
	select {
	case <-p.open:
		return false
	default:
		return true
	}
}

func (p *Relay) gate() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

func (p *Relay) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Relay) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client: client, server: server, ended: make(chan struct{})}
	defer p.forget(l)
	if !p.keep(l) {
		return
	}
	p.running.Go(func() {
		defer l.close()
		p.carryRequests(l)
	})
	p.carry(p, l)
}

func (p *Relay) keep(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.links[l] = struct{}{}
	}
	return !p.closed
}

func (p *Relay) forget(l *link) {
	l.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Relay) carryRequests(l *link) { p.copy(l, l.client, l.server) }

// carryBytes carries what a server says that does not speak as to clients.
func (p *Relay) carryBytes(l *link) { p.copy(l, l.server, l.client) }

func (p *Relay) copy(l *link, from io.Reader, to io.Writer) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !p.pass(l, to, buffer[:n]) {
			return
		}
	}
}

func (p *Relay) carryReplies(l *link) {
	frames := bufio.NewReaderSize(l.server, 64<<10)
	for {
		f, err := readFrame(frames)
		if err != nil {
			return
		}
		if p.loses(f) {
			continue
		}
		if !p.pass(l, l.client, f.bytes) {
			return
		}
	}
}

// pass writes when the gate is open; false when the link has ended.
func (p *Relay) pass(l *link, to io.Writer, bytes []byte) bool {
	select {
	case <-p.gate():
	case <-l.ended:
		return false
	}
	_, err := to.Write(bytes)
	return err == nil
}

// loses decides about one frame, and counts.
func (p *Relay) loses(f frame) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return false
	}
	r, ok := f.publishReply()
	if !ok || !p.swallows(r) {
		return false
	}
	if p.left > 0 {
		p.left--
	}
	p.swallowed++
	return true
}

func (p *Relay) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.running.Wait()
}

// link is one client's connection and ours to the broker.
type link struct {
	client, server net.Conn
	ended          chan struct{}
	once           sync.Once
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.ended)
		l.client.Close()
		l.server.Close()
	})
}
