package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// stored is a message as a stream has it.
type stored struct {
	subject  string
	sequence uint64
	at       time.Time
	header   nats.Header
	data     []byte
}

// query selects one message of a stream, or, with Batch, some.
type query struct {
	Sequence      uint64 `json:"seq,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
	NextBySubject string `json:"next_by_subj,omitempty"` // the first from Sequence on that matches
	Batch         int    `json:"batch,omitempty"`
	MaxBytes      int    `json:"max_bytes,omitempty"`
}

func (q query) encode() []byte {
	b, _ := json.Marshal(q) // numbers and strings alone: it cannot fail
	return b
}

// askLeader reads one message from the stream's leader, which alone has certainly applied all that was acknowledged.
func (c *Conn) askLeader(ctx context.Context, stream string, q query) (stored, error) {
	var answer struct {
		Message *struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	if err := c.callAPI(ctx, "$JS.API.STREAM.MSG.GET."+stream, q.encode(), &answer); err != nil {
		return stored{}, err
	}
	m := answer.Message
	if m == nil {
		return stored{}, errors.New("read from the leader: the answer has no message")
	}
	header, err := decodeHeader(m.Header)
	if err != nil {
		return stored{}, fmt.Errorf("read from the leader: %w", err)
	}
	return stored{subject: m.Subject, sequence: m.Sequence, at: m.Time, header: header, data: m.Data}, nil
}

func decodeHeader(raw []byte) (nats.Header, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return nats.DecodeHeadersMsg(raw)
}

// callAPI asks JetStream until it answers or ctx ends, and reads the answer into answer.
func (c *Conn) callAPI(ctx context.Context, subject string, request []byte, answer any) error {
	reply, err := c.ask(ctx, &nats.Msg{Subject: subject, Data: request}, refusedForNow)
	if err != nil {
		return err
	}
	if err := replyAPIError(reply); err != nil {
		return err
	}
	if err := json.Unmarshal(reply.Data, answer); err != nil {
		return fmt.Errorf("read JetStream's answer: %w", err)
	}
	return nil
}

// refusedForNow reports whether JetStream says that it cannot answer yet: there is no leader, say.
func refusedForNow(reply *nats.Msg) error {
	var e *apiError
	if err := replyAPIError(reply); errors.As(err, &e) && (e.Status == statusUnavailable || e.Status == statusTooMany) {
		return err
	}
	return nil
}

// replyAPIError is the error in an answer of the JetStream API: ErrNotFound for a message that is not there.
func replyAPIError(reply *nats.Msg) error {
	var answer struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return fmt.Errorf("read JetStream's answer: %w", err)
	}
	switch {
	case answer.Error == nil:
		return nil
	case answer.Error.Code == codeNotFound:
		return ErrNotFound
	}
	return answer.Error
}

// ask repeats a request that only reads until it is answered otherwise than with "not now", or ctx ends.
func (c *Conn) ask(ctx context.Context, m *nats.Msg, notNow func(*nats.Msg) error) (*nats.Msg, error) {
	ctx, cancel := bounded(ctx, storeTimeout)
	defer cancel()
	for again := newBackoff(); ; {
		reply, err := c.askOnce(ctx, m)
		if err == nil {
			err = notNow(reply)
		}
		if err == nil {
			return reply, nil
		}
		if c.nc.IsClosed() || !pause(ctx, again.delay(isUnclear)) {
			return nil, err
		}
	}
}

func (c *Conn) askOnce(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.TryTimeout)
	defer cancel()
	return c.roundTrip(ctx, m)
}

// directGet reads one message from any replica: fast, and perhaps old.
func (c *Conn) directGet(ctx context.Context, stream string, q query) (stored, error) {
	m := &nats.Msg{Subject: "$JS.API.DIRECT.GET." + stream, Data: q.encode()}
	reply, err := c.ask(ctx, m, func(*nats.Msg) error { return nil })
	if err != nil {
		return stored{}, err
	}
	return readDirect(reply)
}

// readDirect reads a message that came by direct get, republished or carried on, with its place in the headers.
func readDirect(m *nats.Msg) (stored, error) {
	switch status := m.Header.Get(headerStatus); status {
	case "":
	case "404":
		return stored{}, ErrNotFound
	default:
		return stored{}, fmt.Errorf("read message: status %s", status)
	}
	sequence, err := strconv.ParseUint(m.Header.Get(headerSequence), 10, 64)
	if err != nil || sequence == 0 {
		return stored{}, errors.New("read message: it has no sequence")
	}
	at, _ := time.Parse(time.RFC3339Nano, m.Header.Get(headerTimestamp))
	return stored{subject: m.Header.Get(headerSubject), sequence: sequence, at: at, header: m.Header, data: m.Data}, nil
}
