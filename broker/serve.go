package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/agentreach/agent-reach/schemas"
)

// queueGroup is the group of all dispatchers: each request goes to one of them.
const queueGroup = "reach"

// How many handlers run at once. An API request may wait long for a task to end, so there are more of those.
const (
	maxHandlers    = 512
	maxAPIHandlers = 4096
)

// ServeOption changes how Serve works.
type ServeOption func(*serving)

// Plain makes every server of the subject hear every request, instead of one of the group.
func Plain() ServeOption { return func(s *serving) { s.group = "" } }

// Serial makes the handler run one request at a time, in the order of arrival.
func Serial() ServeOption { return func(s *serving) { s.slots = nil } }

// serving is how the requests of one subject reach a handler.
type serving struct {
	*Subscription
	ctx     context.Context // of the handlers
	group   string
	slots   chan struct{} // nil: one at a time
	handler func(context.Context, *Request)
}

// Serve answers requests on a subject, as one of the queue group of dispatchers. Handlers run concurrently, at most 512 at once;
// beyond that the subscription waits. Their context ends when the subscription is closed and Config.Grace has passed; what comes
// too late is answered UNAVAILABLE. A request on a worker's subject that names no legal agent is refused before the handler sees
// it.
func (c *Conn) Serve(subject string, handler func(context.Context, *Request), options ...ServeOption) (*Subscription, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := newServing(ctx, &Subscription{conn: c, cancel: cancel}, maxHandlers, handler)
	for _, option := range options {
		option(s)
	}
	sub, err := c.listen(subject, s.group, func(m *nats.Msg) { s.take(c.newRequest(m.Subject, m.Reply, m.Header, m.Data)) })
	if err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(ended) })
	s.stop = func() {
		if sub.Drain() == nil { // what has arrived is still answered
			waitFor(ended, c.cfg.Grace)
		}
	}
	return c.started(s.Subscription)
}

func newServing(ctx context.Context, sub *Subscription, limit int, handler func(context.Context, *Request)) *serving {
	return &serving{Subscription: sub, ctx: ctx, group: queueGroup, slots: make(chan struct{}, limit), handler: handler}
}

// take runs the handler, as soon as there is a slot. It is called from one goroutine.
func (s *serving) take(r *Request) {
	if !s.gate.enter() {
		s.refuse(r)
		return
	}
	if s.slots == nil {
		defer s.gate.leave()
		s.handle(r)
		return
	}
	select {
	case s.slots <- struct{}{}:
	case <-s.ctx.Done():
		s.gate.leave()
		s.refuse(r)
		return
	}
	s.conn.crew.run(job{s, r})
}

// finish runs the handler of a request that has a slot.
func (s *serving) finish(r *Request) {
	defer s.gate.leave()
	defer func() { <-s.slots }()
	s.handle(r)
}

// refuse answers what came too late, so that the other side need not wait to find out. Where every server of the subject hears each
// request, it is not this one's to answer.
func (s *serving) refuse(r *Request) {
	if s.group != "" {
		r.Fail(schemas.NewError(schemas.Unavailable, schemas.ReasonNoDispatcher, "this dispatcher is stopping; send the same again"))
	}
}

func (s *serving) handle(r *Request) {
	if r.Agent == "" && namesAgent(r.Subject) {
		r.Fail(schemas.AsError(errBadSubject()))
		return
	}
	s.handler(s.ctx, r)
}

// ServeAPI answers the house's API as the NATS micro service "reach", which the usual tools can list. A key of endpoints is noun
// and verb, such as "task.submit"; version is a semantic version. Handlers run concurrently, at most 4,096 at once per endpoint.
func (c *Conn) ServeAPI(version string, endpoints map[string]func(context.Context, *Request)) (*Subscription, error) {
	service, err := micro.AddService(c.nc, micro.Config{
		Name: queueGroup, Version: version, QueueGroup: queueGroup, Description: "Agent-Reach: tasks for agents, wherever they are",
	})
	if err != nil {
		return nil, fmt.Errorf("serve API: %w", c.natsError(context.Background(), err, 0))
	}
	ctx, cancel := context.WithCancel(context.Background())
	api := &Subscription{conn: c, cancel: cancel}
	api.stop = func() {
		_ = service.Stop() // it fails only where there is nothing left to end
		_ = c.nc.FlushTimeout(c.cfg.Grace)
	}
	for name, handler := range endpoints {
		if err := c.addEndpoint(service, name, newServing(ctx, api, maxAPIHandlers, handler)); err != nil {
			api.Close()
			return nil, err
		}
	}
	return c.started(api)
}

func (c *Conn) addEndpoint(service micro.Service, name string, s *serving) error {
	noun, verb, _ := strings.Cut(name, ".")
	subject := SubjectAPI(noun, verb)
	if subject == "" || noun == Any || verb == Any {
		return fmt.Errorf("serve API endpoint %q: %w", name, errBadSubject())
	}
	take := func(m micro.Request) {
		s.take(c.newRequest(m.Subject(), m.Reply(), nats.Header(m.Headers()), m.Data()))
	}
	err := service.AddEndpoint(noun+"-"+verb, micro.HandlerFunc(take), micro.WithEndpointSubject(subject),
		micro.WithEndpointPendingLimits(maxPendingMessages, maxPendingBytes))
	if err != nil {
		return fmt.Errorf("serve API endpoint %q: %w", name, c.natsError(context.Background(), err, 0))
	}
	return nil
}

// Request is one message to a handler of Serve.
type Request struct {
	Subject string
	Agent   string // of a worker's subject, checked; else empty
	Data    []byte

	conn   *Conn
	reply  string
	header nats.Header
}

func (c *Conn) newRequest(subject, reply string, header nats.Header, data []byte) *Request {
	return &Request{Subject: subject, Agent: agentOf(subject), Data: data, conn: c, reply: reply, header: header}
}

// Entry is the ledger entry that the request carries, if it carries one: an assignment sent again.
func (r *Request) Entry() (Entry, bool) {
	e, err := carriedEntry(&nats.Msg{Header: r.header, Data: r.Data})
	return e, err == nil
}

// Reply answers. Without it, or Fail, the other side waits in vain.
func (r *Request) Reply(body []byte) { r.respond(&nats.Msg{Data: body}) }

// ReplyEntry sends one ledger entry as a part of the answer; ReplyEnd ends it.
func (r *Request) ReplyEntry(e Entry) { r.respond(e.message("")) }

// ReplyEnd ends an answer of entries.
func (r *Request) ReplyEnd(body []byte) {
	r.respond(&nats.Msg{Header: nats.Header{headerPull: {pullEnd}}, Data: body})
}

// Fail answers with an error.
func (r *Request) Fail(e *schemas.Error) {
	body, err := schemas.Encode(e)
	if err != nil {
		body = schemas.MustEncode(schemas.AsError(err))
	}
	r.respond(&nats.Msg{Header: nats.Header{headerErrorCode: {string(e.Code)}, headerErrorText: {oneLine(e.Message)}}, Data: body})
}

func (r *Request) respond(m *nats.Msg) {
	if r.reply == "" {
		return
	}
	m.Subject = r.reply
	if err := r.conn.publish(m); err != nil && !errors.Is(err, ErrDisconnected) {
		r.conn.log.Error().Err(err).Str("subject", r.Subject).Msg("request not answered")
	}
}

// oneLine makes text fit for a header.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
