package floor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentreach/agent-reach/schemas"
)

// The chain has the subjects of the product under another name: its ledger and feed, what callers and workers ask, and the results.
const (
	chainStream = "CHAIN"
	chainLedger = "chain.task."
	chainFeed   = "chain.feed."
	chainSubmit = "chain.submit."
	chainFinish = "chain.finish."
	chainResult = "chain.result."
	chainAgent  = "echo.bench-0" // the last tokens of a task's subject: its capability and its agent
)

// What the messages of a task have beyond its payload, or its result, which is as large; in bytes, as a listener beside the product
// counts them.
const (
	overSubmit   = 87
	overAssigned = 1077
	overFinish   = 539
	overDone     = 781
	overResult   = 480

	accepted = 391 // the answer to a submit has no payload, that to a finish little else
	answered = 51
)

// SetUpChain makes a stream as the product's ledger is one.
func SetUpChain(ctx context.Context, url string) error {
	nc, err := connect(url, "chain, set-up")
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{
			Name: chainStream, Subjects: []string{chainLedger + ">"}, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew,
			MaxMsgsPerSubject: 1, Duplicates: 100 * time.Millisecond, AllowDirect: true, AllowMsgTTL: true,
			RePublish: &jetstream.RePublish{
				Source: chainLedger + "*.*.*.*", Destination: chainFeed + "{{wildcard(2)}}.{{wildcard(3)}}.{{wildcard(4)}}.{{wildcard(1)}}",
			},
		})
	}
	if err != nil {
		return fmt.Errorf("set up the chain: %w", err)
	}
	return nil
}

// Chain is a caller of the chain.
type Chain struct {
	nc      *nats.Conn
	single  bool
	results results
}

// NewChain connects a caller. As the product's callers do, one that has a single task at a time hears the result of each by a
// subscription of its own, any other hears all results there are.
func NewChain(url string, single bool) (*Chain, error) {
	nc, err := connect(url, "chain")
	if err != nil {
		return nil, err
	}
	c := &Chain{nc: nc, single: single, results: newResults()}
	if !single {
		_, err = nc.Subscribe(chainResult+"*", c.results.heard)
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("start the chain: %w", err)
	}
	return c, nil
}

// Call submits a task and waits for its result.
func (c *Chain) Call(ctx context.Context, payload []byte) error {
	task := schemas.NewTaskID()
	result := c.results.expect(task)
	if c.single {
		sub, err := c.nc.Subscribe(chainResult+task, c.results.heard)
		if err != nil {
			return fmt.Errorf("hear a result: %w", err)
		}
		defer func() { _ = sub.Unsubscribe() }()
	}
	if _, err := c.nc.RequestWithContext(ctx, chainSubmit+task, padded(payload, overSubmit)); err != nil {
		return fmt.Errorf("submit a task: %w", err)
	}
	return await(ctx, result)
}

// padded is a payload within a message that is larger by so many bytes.
func padded(payload []byte, over int) []byte {
	return append(make([]byte, over, over+len(payload)), payload...)
}

// Close ends the connection.
func (c *Chain) Close() { c.nc.Close() }

// house is the dispatcher's side of the chain. It keeps nothing, checks nothing and decides nothing.
type house struct {
	ctx context.Context
	nc  *nats.Conn
}

// ServeChain is the dispatcher's side: it writes the two phases of each task and hears the feed of them.
func ServeChain(ctx context.Context, url string, ready func()) error {
	nc, err := connect(url, "chain, dispatcher")
	if err != nil {
		return err
	}
	defer nc.Close()
	h := &house{ctx, nc}
	return serveChain(ctx, nc, ready, map[string]nats.MsgHandler{
		chainSubmit + "*": h.submit, chainFinish + "*.*": h.finish, chainFeed + ">": nil,
	})
}

// serveChain runs a handler for each message that comes, all at once, until ctx ends. What has none is heard and dropped.
func serveChain(ctx context.Context, nc *nats.Conn, ready func(), handlers map[string]nats.MsgHandler) error {
	var working sync.WaitGroup
	for subject, handler := range handlers {
		take := func(m *nats.Msg) { working.Go(func() { handler(m) }) }
		if handler == nil {
			take = func(*nats.Msg) {}
		}
		if _, err := nc.Subscribe(subject, take); err != nil {
			return fmt.Errorf("serve the chain: %w", err)
		}
	}
	if err := nc.Flush(); err != nil {
		return fmt.Errorf("serve the chain: %w", err)
	}
	ready()
	<-ctx.Done()
	closed := nc.StatusChanged(nats.CLOSED)
	if nc.Drain() == nil {
		<-closed
	}
	working.Wait()
	return nil
}

// submit writes the first phase. A task that is not stored is not answered: its caller waits until its time is up.
func (h *house) submit(m *nats.Msg) {
	if h.store(lastToken(m.Subject), "assigned", "0", padded(m.Data[overSubmit:], overAssigned)) == nil {
		_ = m.Respond(make([]byte, accepted))
	}
}

// finish writes the second phase, tells the caller, and answers the worker. The subject names the task and its first sequence.
func (h *house) finish(m *nats.Msg) {
	task, sequence, _ := strings.Cut(strings.TrimPrefix(m.Subject, chainFinish), ".")
	result := m.Data[overFinish:]
	if h.store(task, "done", sequence, padded(result, overDone)) == nil {
		_ = h.nc.Publish(chainResult+task, padded(result, overResult))
		_ = m.Respond(make([]byte, answered))
	}
}

// The lifetime of a message and the random name of a write, as the product's messages have them.
const (
	chainTTL   = "172800"
	chainWrite = "8c09ff63b6e33aba"
)

func (h *house) store(task, phase, previous string, body []byte) error {
	ack, err := h.nc.RequestMsgWithContext(h.ctx, &nats.Msg{
		Subject: chainLedger + task + "." + phase + "." + chainAgent, Data: body,
		Header: nats.Header{
			"Nats-Expected-Last-Subject-Sequence":         {previous},
			"Nats-Expected-Last-Subject-Sequence-Subject": {chainLedger + task + ".>"},
			"Nats-TTL": {chainTTL}, "Reach-Write": {chainWrite},
		},
	})
	if err == nil && bytes.Contains(ack.Data, []byte(`"error"`)) {
		err = errors.New(string(ack.Data))
	}
	return err
}

// ServeChainAgent is the worker's side: it sends the payload of each assignment back as its result.
func ServeChainAgent(ctx context.Context, url string, ready func()) error {
	nc, err := connect(url, "chain, worker")
	if err != nil {
		return err
	}
	defer nc.Close()
	return serveChain(ctx, nc, ready, map[string]nats.MsgHandler{
		chainFeed + "assigned." + chainAgent + ".*": func(m *nats.Msg) { carry(ctx, nc, m) },
	})
}

// carry does the work of a task, which is nothing.
func carry(ctx context.Context, nc *nats.Conn, assigned *nats.Msg) {
	subject := chainFinish + lastToken(assigned.Subject) + "." + assigned.Header.Get("Nats-Sequence")
	_, _ = nc.RequestWithContext(ctx, subject, padded(assigned.Data[overAssigned:], overFinish))
}
