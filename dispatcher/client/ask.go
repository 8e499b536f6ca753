package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// question is one request to the house, repeated until it is answered. Every request of this package may be repeated: it names what
// it is about.
type question struct {
	noun, verb string
	body       any
	extra      time.Duration   // how long the dispatcher may take on purpose
	creates    string          // the task_id that an answer which never came may have made; "" if it makes nothing
	bundler    *broker.Bundler // that it goes with; nil where it goes alone
	otherwise  func() question // what to ask where no dispatcher knows this; nil: the same again
}

// ask puts a question within ctx, or within the client's patience where ctx has no deadline.
func ask[A any](ctx context.Context, c *Client, q question) (*A, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	return askUntil[A](ctx, c, q)
}

// askUntil puts a question until an answer comes or ctx ends.
func askUntil[A any](ctx context.Context, c *Client, q question) (*A, error) {
	request, err := c.encode(q.body)
	if err != nil {
		return nil, err
	}
	reply, problem := c.exchange(ctx, q, request)
	if problem != nil {
		return nil, problem
	}
	answer := new(A)
	if err := schemas.Decode(reply, answer); err != nil {
		return nil, schemas.NewError(schemas.Internal, schemas.ReasonProtocol, "this client does not understand the dispatcher's answer")
	}
	return answer, nil
}

// encode is a body as one message, if it fits into one.
func (c *Client) encode(body any) ([]byte, error) {
	request, err := schemas.Encode(body)
	if err != nil {
		return nil, schemas.NewError(schemas.InvalidArgument, schemas.ReasonNotJSON, "the payload, or another raw value, is not JSON")
	}
	if size, limit := int64(len(request)), c.conn.MaxPayload(); size > limit && limit > 0 {
		return nil, schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge,
			"the message of %d bytes is larger than the broker takes, %d", size, limit).
			With("limit_bytes", limit).With("size_bytes", size)
	}
	return request, nil
}

// exchange tries until there is an answer.
func (c *Client) exchange(ctx context.Context, q question, request []byte) ([]byte, *schemas.Error) {
	var tried attempts
	for {
		reply, err := c.tryOnce(ctx, q, request, c.try<<min(tried.slow, mostPatience))
		if err == nil {
			return reply, nil
		}
		if q.otherwise != nil && errors.Is(err, broker.ErrNoResponders) {
			q = q.otherwise()
			continue
		}
		var refused *schemas.Error
		if errors.As(err, &refused) && !passing(refused) {
			return nil, refused
		}
		tried.note(err, refused, ctx.Err() != nil)
		if !pause(ctx, tried.delay()) || tooLate(ctx) {
			return nil, tried.verdict(ctx, q)
		}
	}
}

// leastTry is the time without which another try would only make an outcome unknown that is known.
const leastTry = 100 * time.Millisecond

func tooLate(ctx context.Context) bool {
	deadline, found := ctx.Deadline()
	return found && time.Until(deadline) < leastTry
}

// mostPatience is how often the time of one try doubles, for dispatchers that are alive and busy.
const mostPatience = 3

// tryOnce sends nothing while the broker is away: then nothing can have arrived either.
func (c *Client) tryOnce(ctx context.Context, q question, request []byte, within time.Duration) ([]byte, error) {
	if !c.conn.Connected() {
		return nil, errAway
	}
	if q.bundler != nil {
		return q.bundler.RequestWithin(ctx, within+q.extra, request)
	}
	return c.conn.RequestWithin(ctx, within+q.extra, broker.SubjectAPI(q.noun, q.verb), request)
}

var errAway = errors.New("no connection to the broker")

// passing reports whether an answer only says that the dispatcher could not tell, and the same question is to be put again.
func passing(e *schemas.Error) bool {
	return e.Code == schemas.Unavailable && (e.Reason == schemas.ReasonOutcomeUnknown || e.Reason == schemas.ReasonBrokerOutage)
}

// attempts is what the tries of a question have shown so far.
type attempts struct {
	count   int
	slow    int            // of those whose answer did not come in time
	maybe   bool           // one of them may have arrived
	last    error          // of the last
	refused *schemas.Error // what a dispatcher said last, if the last try found one
	cut     bool           // the last was cut short by the caller's time
}

func (a *attempts) note(err error, refused *schemas.Error, cut bool) {
	a.count++
	a.last, a.refused, a.cut = err, refused, cut
	if errors.Is(err, context.DeadlineExceeded) {
		a.slow++
	}
	if !errors.Is(err, errAway) && !errors.Is(err, broker.ErrNoResponders) {
		a.maybe = true
	}
}

// Delays between tries: they double, with as much again by chance.
const (
	firstDelay = 20 * time.Millisecond
	maxDelay   = time.Second
)

func (a *attempts) delay() time.Duration {
	delay := min(firstDelay<<min(a.count-1, 10), maxDelay)
	delay += rand.N(delay)
	if a.refused != nil {
		return max(delay, schemas.Duration(a.refused.RetryAfterMS))
	}
	return delay
}

// verdict is what to tell a caller whose time is up.
func (a *attempts) verdict(ctx context.Context, q question) *schemas.Error {
	switch {
	case q.creates != "" && a.maybe:
		return schemas.NewError(schemas.Unavailable, schemas.ReasonOutcomeUnknown,
			"no answer came in time; the task may have been accepted: look for it, or submit the same message with this task_id").
			With("task_id", q.creates)
	case errors.Is(ctx.Err(), context.Canceled):
		return canceled()
	case a.refused != nil:
		return a.refused
	case q.extra > 0 && a.cut && a.count == 1: // somebody was there, for all that is known
		return waitEnded(ctx)
	case errors.Is(a.last, errAway) || errors.Is(a.last, broker.ErrDisconnected):
		return schemas.NewError(schemas.Unavailable, schemas.ReasonBrokerOutage, "there is no connection to the broker")
	}
	return schemas.NewError(schemas.Unavailable, schemas.ReasonNoDispatcher, "no dispatcher answers: is one running?")
}

// waitEnded is what a caller hears whose context ended while it waited for a task.
func waitEnded(ctx context.Context) *schemas.Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return canceled()
	}
	return schemas.NewError(schemas.DeadlineExceeded, "", "the wait ended before the task did; the task goes on")
}

func canceled() *schemas.Error {
	return schemas.NewError(schemas.Cancelled, "", "the caller gave up before an answer came")
}

// pause waits, and reports whether ctx has outlived it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
