package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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

// Bundled makes the handler serve the requests of bundles too, which come on the subject many.
func Bundled(many string) ServeOption { return func(s *serving) { s.many = many } }

// serving is how the requests of one subject reach a handler.
type serving struct {
	*Subscription
	ctx     context.Context // of the handlers
	group   string
	many    string        // where bundles come; empty: nowhere
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
	stops, err := s.listen(subject)
	if err != nil {
		cancel()
		return nil, err
	}
	s.stop = func() {
		var all sync.WaitGroup
		for _, stop := range stops {
			all.Go(stop)
		}
		all.Wait()
	}
	return c.started(s.Subscription)
}

// listen subscribes to the subjects of the requests, and returns what ends that.
func (s *serving) listen(subject string) (stops []func(), err error) {
	one, err := s.conn.listenUntilDrained(subject, s.group, func(m *nats.Msg) {
		s.take(s.conn.newRequest(m.Subject, m.Reply, m.Header, m.Data))
	})
	if err != nil || s.many == "" {
		return []func(){one}, err
	}
	many, err := s.conn.listenUntilDrained(s.many, s.group, func(m *nats.Msg) { s.takeMany(m.Subject, m.Reply, m.Header, m.Data) })
	if err != nil {
		one()
	}
	return []func(){one, many}, err
}

// listenUntilDrained subscribes. stop ends it, and waits a while until what has arrived is in the hands of fn.
func (c *Conn) listenUntilDrained(subject, group string, fn nats.MsgHandler) (stop func(), err error) {
	sub, err := c.listen(subject, group, fn)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(ended) })
	return func() {
		if sub.Drain() == nil {
			waitFor(ended, c.cfg.Grace)
		}
	}, nil
}

// takeMany takes the requests of a bundle, one after the other.
func (s *serving) takeMany(subject, reply string, header nats.Header, data []byte) {
	requests := s.conn.unbundled(subject, reply, header, data)
	if requests == nil {
		s.conn.newRequest(subject, reply, header, nil).Fail(schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue,
			"the sizes in %s are not those of the requests, or of more than %d", headerBundle, maxBundled))
		return
	}
	for _, r := range requests {
		s.take(r)
	}
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

// refuse answers what came too late, so that the other side need not wait to find out.
func (s *serving) refuse(r *Request) {
	s.fail(r, schemas.NewError(schemas.Unavailable, schemas.ReasonNoDispatcher, "this dispatcher is stopping; send the same again"))
}

// fail answers what no handler will see. Where every server of the subject hears each request, it is not this one's to answer: whoever
// asks would be answered by all.
func (s *serving) fail(r *Request, e *schemas.Error) {
	if s.group != "" {
		r.Fail(e)
	}
}

func (s *serving) handle(r *Request) {
	if r.Agent == "" && namesAgent(r.Subject) {
		s.fail(r, schemas.AsError(errBadSubject()))
		return
	}
	s.handler(s.ctx, r)
}

// ServeAPI answers the house's API as the NATS micro service "reach", which the usual tools can list. A key of endpoints is noun
// and verb, such as "task.submit"; version is a semantic version. Handlers run concurrently, at most 4,096 at once per endpoint. bundled
// names endpoints that take the requests of bundles too, with the endpoint where those come: "task.submits".
func (c *Conn) ServeAPI(
	version string, endpoints map[string]func(context.Context, *Request), bundled map[string]string,
) (*Subscription, error) {
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
		s := newServing(ctx, api, maxAPIHandlers, handler)
		err := c.addEndpoint(service, name, func(m micro.Request) {
			s.take(c.newRequest(m.Subject(), m.Reply(), nats.Header(m.Headers()), m.Data()))
		})
		if many := bundled[name]; many != "" && err == nil {
			err = c.addEndpoint(service, many, func(m micro.Request) {
				s.takeMany(m.Subject(), m.Reply(), nats.Header(m.Headers()), m.Data())
			})
		}
		if err != nil {
			api.Close()
			return nil, err
		}
	}
	return c.started(api)
}

func (c *Conn) addEndpoint(service micro.Service, name string, take micro.HandlerFunc) error {
	noun, verb, _ := strings.Cut(name, ".")
	subject := SubjectAPI(noun, verb)
	if subject == "" || noun == Any || verb == Any {
		return fmt.Errorf("serve API endpoint %q: %w", name, errBadSubject())
	}
	err := service.AddEndpoint(noun+"-"+verb, take, micro.WithEndpointSubject(subject),
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
	bundle *bundle // that it came in; nil if it came alone
	place  int     // in the bundle
}

func (c *Conn) newRequest(subject, reply string, header nats.Header, data []byte) *Request {
	return &Request{Subject: subject, Agent: agentOf(subject), Data: data, conn: c, reply: reply, header: header}
}

// Entry is the ledger entry that the request carries, if it carries one: an assignment sent again.
func (r *Request) Entry() (Entry, bool) {
	e, err := carriedEntry(&nats.Msg{Header: r.header, Data: r.Data})
	return e, err == nil
}

// Asks reports whether somebody waits for an answer.
func (r *Request) Asks() bool { return r.reply != "" }

// Header is what a header of the message says, by its exact name; empty where it says nothing. A bundle has none for its requests.
func (r *Request) Header(name string) string { return r.header.Get(name) }

// Reply answers. Without it, or Fail, the other side waits in vain.
func (r *Request) Reply(body []byte) {
	if r.bundle != nil {
		r.bundle.answer(r.place, "", body)
		return
	}
	r.respond(&nats.Msg{Data: body})
}

// Beside is where the one who asks hears more, later and on the same connection: the subject of the answer with another last word. It is
// empty where there is none.
func (r *Request) Beside(word string) string {
	reply := r.reply
	if r.bundle != nil {
		reply = r.bundle.reply
	}
	last := strings.LastIndexByte(reply, '.')
	if last < 0 || !isInbox(reply) {
		return ""
	}
	return reply[:last+1] + word
}

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
	if r.bundle != nil {
		r.bundle.answer(r.place, e.Code, body)
		return
	}
	r.respond(&nats.Msg{Header: nats.Header{headerErrorCode: {string(e.Code)}, headerErrorText: {oneLine(e.Message)}}, Data: body})
}

func (r *Request) respond(m *nats.Msg) { r.conn.reply(r.reply, m) }

// isInbox reports whether an answer may go to a subject. Whoever asks names it, and no permission of its own is asked for that: the
// subjects of the house and of the server are none, or a request could write into the ledger by our hand.
func isInbox(subject string) bool {
	return !strings.HasPrefix(subject, "reach.") && !strings.HasPrefix(subject, "$")
}

// reply sends an answer to whoever waits for it.
func (c *Conn) reply(to string, m *nats.Msg) {
	if to == "" || !isInbox(to) {
		return
	}
	m.Subject = to
	if err := c.publish(m); err != nil && !errors.Is(err, ErrDisconnected) {
		c.log.Error().Err(err).Str("subject", to).Msg("request not answered")
	}
}

// oneLine makes text fit for a header.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
