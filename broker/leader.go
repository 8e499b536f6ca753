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
		apiAnswer
		Message *struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	if err := c.callAPI(ctx, "STREAM.MSG.GET."+stream, q.encode(), &answer); err != nil {
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

const apiPrefix = "$JS.API."

// apiAnswer is the part that all answers of the JetStream API have.
type apiAnswer struct {
	Error *apiError `json:"error"`
}

// fault is the error in the answer, which forgets it, to be read into again: ErrNotFound for a message that is not there, and
// ErrNotNow while there is no leader, say.
func (a *apiAnswer) fault() error {
	e := a.Error
	a.Error = nil
	switch {
	case e == nil:
		return nil
	case e.Code == codeNotFound:
		return ErrNotFound
	case e.Status == statusUnavailable, e.Status == statusTooMany:
		return e.notNow()
	}
	return e
}

// callAPI asks JetStream until it answers or ctx ends, and reads the answer into answer.
func (c *Conn) callAPI(ctx context.Context, name string, request []byte, answer interface{ fault() error }) error {
	return c.ask(ctx, &nats.Msg{Subject: apiPrefix + name, Data: request}, func(reply *nats.Msg) error {
		if err := json.Unmarshal(reply.Data, answer); err != nil {
			return fmt.Errorf("read JetStream's answer: %w", err)
		}
		return answer.fault()
	})
}

// ask repeats a request that only reads until it is answered, and read does not say ErrNotNow of the answer, or ctx ends.
func (c *Conn) ask(ctx context.Context, m *nats.Msg, read func(*nats.Msg) error) error {
	ctx, cancel := bounded(ctx, storeTimeout)
	defer cancel()
	for again := newBackoff(); ; {
		reply, err := c.roundTrip(ctx, m, c.cfg.TryTimeout)
		if err == nil {
			if err = read(reply); !errors.Is(err, ErrNotNow) {
				return err
			}
		}
		if c.nc.IsClosed() || !pause(ctx, again.delay(isUnclear)) {
			return err
		}
	}
}

// directGet reads one message from any replica: fast, and perhaps old.
func (c *Conn) directGet(ctx context.Context, stream string, q query) (found stored, err error) {
	m := &nats.Msg{Subject: apiPrefix + "DIRECT.GET." + stream, Data: q.encode()}
	err = c.ask(ctx, m, func(reply *nats.Msg) error {
		found, err = readDirect(reply)
		return err
	})
	return found, err
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
