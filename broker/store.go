package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// put is one message that a stream is to store once, if the last message that matches filter has the sequence expected.
type put struct {
	stream   string
	subject  string
	write    string
	header   nats.Header
	body     []byte
	filter   string // empty: no expectation
	expected uint64
}

func (p put) message() *nats.Msg {
	p.header[headerWrite] = []string{p.write}
	if p.filter != "" {
		p.header[headerExpected] = []string{strconv.FormatUint(p.expected, 10)}
		p.header[headerExpectedSubj] = []string{p.filter}
	}
	return &nats.Msg{Subject: p.subject, Header: p.header, Data: p.body}
}

// refusal says that the last message is another than expected; the zero value of last if there is none. own is where ours was
// stored before others went on from there, if it was and can still be seen.
type refusal struct {
	last stored
	own  uint64
}

func (r *refusal) Error() string {
	return "wrong last sequence: " + strconv.FormatUint(r.last.sequence, 10)
}

// errUndecided says that the same publish has to be repeated to learn more.
var errUndecided = errors.New("not decided")

// store publishes until the message is stored or refused. A lost answer is no answer: only the same publish again tells, because the
// expectation lets it in at most once. It gives the sequence; all of the message where that was found there already, since an earlier
// try with the same write may have said something else. The error is a *refusal, or wraps ErrUnknownOutcome if ctx ended first, or is
// any other, and then the message is certainly not stored.
func (c *Conn) store(ctx context.Context, p put) (stored, error) {
	ctx, cancel := patient(ctx)
	defer cancel()
	message := p.message()
	v := c.try(ctx, message)
	if v.kind == isStored {
		return stored{sequence: v.sequence}, nil
	}
	if _, has := ctx.Deadline(); !has {
		ctx, cancel = context.WithTimeout(ctx, storeTimeout)
		defer cancel()
	}
	doubt := false // an earlier try may have been stored
	for again := newBackoff(); ; v = c.try(ctx, message) {
		switch v.kind {
		case isStored:
			return stored{sequence: v.sequence}, nil
		case isMismatch:
			there, err := c.settle(ctx, p, v.sequence, doubt)
			if !errors.Is(err, errUndecided) {
				return there, err
			}
		case isRefused:
			if !doubt {
				return stored{}, v.err
			}
		case isUnclear:
			doubt = true
		}
		if c.nc.IsClosed() || !pause(ctx, again.delay(v.kind)) {
			return stored{}, unresolved(ctx, v, doubt)
		}
	}
}

func (c *Conn) try(ctx context.Context, m *nats.Msg) verdict {
	if ctx.Err() != nil {
		return verdict{kind: isUnsent, err: context.Cause(ctx)}
	}
	return judge(c.roundTrip(ctx, m, c.cfg.TryTimeout))
}

// settle finds out whose message is there after a refusal that named the sequence last, and gives it if it is ours. Only the leader is asked: a replica can be
// older than the refusal.
func (c *Conn) settle(ctx context.Context, p put, last uint64, doubt bool) (stored, error) {
	there, err := c.refusedBy(ctx, p, last)
	switch {
	case errors.Is(err, ErrNotFound):
		return stored{}, &refusal{}
	case err != nil:
		return stored{}, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	case there.header.Get(headerWrite) == p.write:
		return there, nil
	case there.sequence == p.expected:
		return stored{}, errUndecided
	case !doubt:
		return stored{}, &refusal{last: there}
	}
	own, err := c.wasStored(ctx, p)
	if err != nil {
		return stored{}, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return stored{}, &refusal{last: there, own: own}
}

// refusedBy reads the message with the sequence last or, if that is gone meanwhile, the one that is last now.
func (c *Conn) refusedBy(ctx context.Context, p put, last uint64) (stored, error) {
	if last > 0 {
		there, err := c.askLeader(ctx, p.stream, query{Sequence: last})
		if !errors.Is(err, ErrNotFound) {
			return there, err
		}
	}
	return c.askLeader(ctx, p.stream, query{LastBySubject: p.filter})
}

// wasStored is where an earlier try was stored after all, if someone else has gone on from there: then the message may still be the
// last on its own subject. 0 if it is not.
func (c *Conn) wasStored(ctx context.Context, p put) (uint64, error) {
	there, err := c.askLeader(ctx, p.stream, query{LastBySubject: p.subject})
	if errors.Is(err, ErrNotFound) || err == nil && there.header.Get(headerWrite) != p.write {
		return 0, nil
	}
	return there.sequence, err
}

// unresolved is the error of a store that ran out of time.
func unresolved(ctx context.Context, v verdict, doubt bool) error {
	cause := v.err
	if cause == nil {
		cause = context.Cause(ctx)
	}
	if doubt || v.kind == isMismatch {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, cause)
	}
	return cause
}

// verdict is what one try of a store taught.
type verdict struct {
	kind     verdictKind
	sequence uint64 // stored: its own; mismatch: that of the last message
	err      error  // refused, unclear, unsent
}

type verdictKind int

const (
	isStored   verdictKind = iota
	isMismatch             // the last message is another
	isBusy                 // another write to the same task is on its way: not stored, and nothing said about the last message
	isRefused              // not stored, for a reason that no repetition mends soon
	isUnclear              // perhaps stored
	isUnsent               // not stored: it never left, or the server had no room for it just then
)

// Error codes of JetStream (errors.json of nats-server).
const (
	codeWrongLast         = 10071
	codeWrongLastInFlight = 10164
	codeNotFound          = 10037
	codeTooLarge          = 10054
	codeNoPeers           = 10005
	codeNoStream          = 10059
)

// codesFull are the ways in which the server says that its storage has no room.
var codesFull = map[int]bool{10002: true, 10023: true, 10047: true, 10077: true}

const (
	statusTooMany     = 429
	statusUnavailable = 503
)

// judge reads the answer to a publish.
func judge(reply *nats.Msg, err error) verdict {
	if err != nil {
		return judgeError(err)
	}
	if sequence, ok := plainAck(reply.Data); ok {
		return verdict{kind: isStored, sequence: sequence}
	}
	var ack struct {
		Sequence uint64    `json:"seq"`
		Error    *apiError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return verdict{kind: isUnclear, err: fmt.Errorf("read acknowledgement: %w", err)}
	}
	switch {
	case ack.Error != nil:
		return ack.Error.verdict()
	case ack.Sequence == 0:
		return verdict{kind: isUnclear, err: errors.New("read acknowledgement: it has no sequence")}
	}
	return verdict{kind: isStored, sequence: ack.Sequence}
}

func judgeError(err error) verdict {
	var refused *schemas.Error
	switch {
	case errors.As(err, &refused):
		return verdict{kind: isRefused, err: err}
	case errors.Is(err, errUnsent):
		return verdict{kind: isUnsent, err: err}
	}
	return verdict{kind: isUnclear, err: err}
}

// plainAck reads the usual acknowledgement, {"stream":"…","seq":12}, without a JSON decoder.
func plainAck(data []byte) (uint64, bool) {
	const field = `,"seq":`
	at := bytes.Index(data, []byte(field))
	if at < 0 || !bytes.HasPrefix(data, []byte(`{"stream":"`)) {
		return 0, false
	}
	digits, rest, found := bytes.Cut(data[at+len(field):], []byte("}"))
	sequence, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 10, 64)
	return sequence, found && len(rest) == 0 && err == nil && sequence > 0
}

// apiError is how JetStream says no.
type apiError struct {
	Status      int    `json:"code"`
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("jetstream: %s (%d)", e.Description, e.Code) }

func (e *apiError) verdict() verdict {
	switch {
	case e.Code == codeWrongLast:
		return e.mismatch()
	case e.Code == codeWrongLastInFlight:
		return verdict{kind: isBusy, err: e.notNow()}
	case e.Code == codeTooLarge:
		return verdict{kind: isRefused, err: schemas.NewError(schemas.ResourceExhausted, schemas.ReasonPayloadTooLarge,
			"the message is larger than the ledger takes")}
	case codesFull[e.Code]:
		return verdict{kind: isRefused, err: schemas.NewError(schemas.ResourceExhausted, schemas.ReasonLedgerFull,
			"the broker's storage is full; free some or raise its limit")}
	case e.Status == statusTooMany, e.Status == statusUnavailable:
		return verdict{kind: isUnsent, err: e.notNow()}
	}
	return verdict{kind: isRefused, err: e}
}

// notNow is the error of a request that may succeed later.
func (e *apiError) notNow() error { return fmt.Errorf("%w: %w", ErrNotNow, e) }

// mismatch reads "wrong last sequence: 12".
func (e *apiError) mismatch() verdict {
	_, last, _ := strings.Cut(e.Description, ": ")
	sequence, err := strconv.ParseUint(last, 10, 64)
	if err != nil {
		return verdict{kind: isBusy, err: e.notNow()}
	}
	return verdict{kind: isMismatch, sequence: sequence, err: e}
}

// backoff gives the pauses between tries.
type backoff struct{ next time.Duration }

const (
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

func newBackoff() *backoff { return &backoff{next: firstPause} }

// delay is how long to wait before the next try: a moment if only another writer was in the way, else longer each time.
func (b *backoff) delay(kind verdictKind) time.Duration {
	if kind == isBusy || kind == isMismatch {
		return 5*time.Millisecond + rand.N(45*time.Millisecond)
	}
	pause := b.next/2 + rand.N(b.next/2)
	b.next = min(2*b.next, longestPause)
	return pause
}
