package broker

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// The headers of a ledger message and of what carries one elsewhere.
const (
	headerWrite         = "Reach-Write"
	headerPull          = "Reach-Pull"
	headerExpected      = "Nats-Expected-Last-Subject-Sequence"
	headerExpectedSubj  = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerTTL           = "Nats-TTL"
	headerSubject       = "Nats-Subject"
	headerSequence      = "Nats-Sequence"
	headerTimestamp     = "Nats-Time-Stamp"
	headerLastSequence  = "Nats-Last-Sequence"
	headerStatus        = "Status"
	headerErrorCode     = "Nats-Service-Error-Code"
	headerErrorText     = "Nats-Service-Error"
	headerMarkerReason  = "Nats-Marker-Reason"
	headerBucketRemoval = "KV-Operation"
)

// Entry is one message of the ledger: one phase of one task.
type Entry struct {
	TaskID     string
	Phase      schemas.Phase
	Capability string
	Agent      string // schemas.NoAgent if there is none yet

	Body     []byte
	Sequence uint64        // where it is stored; 0 before
	Previous uint64        // the sequence expected to be the task's last; 0: the task must not exist
	Write    string        // random, tells this write from every other; made by Ledger.Write if empty
	TTL      time.Duration // how long it is kept: whole seconds, at least one
	At       time.Time     // when it was stored, by the server's clock; zero before
}

// InFlight reports whether an agent has the task under a token, if this is the task's last entry.
func (e Entry) InFlight(token uint64) bool {
	return e.Sequence == token && (e.Phase == schemas.PhaseAssigned || e.Phase == schemas.PhaseBegun)
}

// Subject is where the entry goes in the ledger; empty if one of its names is not legal.
func (e Entry) Subject() string {
	if e.checkNames() != nil {
		return ""
	}
	return ledgerPrefix + e.TaskID + "." + string(e.Phase) + "." + e.Capability + "." + e.Agent
}

func (e Entry) checkNames() error {
	if err := schemas.CheckTaskID(e.TaskID); err != nil {
		return err
	}
	if err := checkPhase(e.Phase); err != nil {
		return err
	}
	if err := schemas.CheckCapability(e.Capability); err != nil {
		return err
	}
	if e.Agent == schemas.NoAgent {
		return nil
	}
	return schemas.CheckAgentID(e.Agent)
}

func checkPhase(phase schemas.Phase) error {
	switch phase {
	case schemas.PhaseScheduled, schemas.PhaseQueued, schemas.PhaseAssigned, schemas.PhaseBegun, schemas.PhaseDone:
		return nil
	}
	return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadName, "this is not a phase of a task").With("field", "/phase")
}

func checkWrite(id string) error {
	if !schemas.IsToken(id) {
		return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadName,
			"a write_id takes letters, digits, _ and -, at most 64").With("field", "/write_id")
	}
	return nil
}

// newWrite is a fresh random name for a write.
func newWrite() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it would crash the program instead
	return hex.EncodeToString(b[:])
}

// header is how the entry's fields stand in the message's header, wherever it goes.
func (e Entry) header() nats.Header {
	return nats.Header{
		headerWrite:    {e.Write},
		headerExpected: {strconv.FormatUint(e.Previous, 10)},
		headerTTL:      {strconv.FormatInt(int64(e.TTL/time.Second), 10)},
	}
}

// message is the entry on a subject other than the ledger's, with the headers that the feed has.
func (e Entry) message(subject string) *nats.Msg {
	header := e.header()
	header[headerSubject] = []string{e.Subject()}
	header[headerSequence] = []string{strconv.FormatUint(e.Sequence, 10)}
	if !e.At.IsZero() {
		header[headerTimestamp] = []string{e.At.UTC().Format(time.RFC3339Nano)}
	}
	return &nats.Msg{Subject: subject, Header: header, Data: e.Body}
}

// entryOf reads a stored message of the ledger.
func entryOf(s stored) (Entry, error) {
	e, err := ParseSubject(s.subject)
	if err != nil {
		return Entry{}, err
	}
	if s.sequence == 0 {
		return Entry{}, fmt.Errorf("read entry: it has no sequence")
	}
	e.Body, e.Sequence, e.At, e.Write = s.data, s.sequence, s.at, s.header.Get(headerWrite)
	e.Previous, _ = strconv.ParseUint(s.header.Get(headerExpected), 10, 64)
	e.TTL = parseTTL(s.header.Get(headerTTL))
	return e, nil
}

// parseTTL reads whole seconds, as this package writes them, or a duration; 0 for anything else.
func parseTTL(text string) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(seconds) * time.Second
	}
	ttl, _ := time.ParseDuration(text)
	return ttl
}

// wholeSeconds is ttl as the server keeps it: rounded up, at least one second.
func wholeSeconds(ttl time.Duration) time.Duration {
	return max(time.Second, (ttl + time.Second - 1).Truncate(time.Second))
}
