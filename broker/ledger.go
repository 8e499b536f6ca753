package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Ledger is all that is durable about tasks. A task's last message, whatever its subject, is where the task stands.
type Ledger struct{ conn *Conn }

// Ledger gives the ledger.
func (c *Conn) Ledger() *Ledger { return &Ledger{conn: c} }

// Write stores an entry if the task's last message has the sequence e.Previous; 0 says that the task must not exist. On success it
// returns e with Sequence, and Write, if that was empty. It repeats itself over lost answers and outages, and stores at most once.
// Where a message with the same Write is there already it returns that one, as the ledger has it: another process may have been
// asked for the same and have made something else of it.
//
// The error is a *Conflict if another message is there; it wraps ErrUnknownOutcome if ctx ended (10 s if it has no deadline) before
// the outcome was known: then the caller may repeat with the same Write. Any other error says that the entry is certainly not
// stored.
func (l *Ledger) Write(ctx context.Context, e Entry) (Entry, error) {
	if e.Write == "" {
		e.Write = newWrite()
	}
	e.TTL = wholeSeconds(e.TTL)
	if err := errors.Join(e.checkNames(), checkWrite(e.Write)); err != nil {
		return e, fmt.Errorf("write entry: %w", err)
	}
	there, err := l.conn.store(ctx, put{
		stream: ledgerStream, subject: e.Subject(), write: e.Write, header: e.header(), body: e.Body,
		filter: taskFilter(e.TaskID), expected: e.Previous,
	})
	if err != nil {
		return e, fmt.Errorf("write %s of task %s: %w", e.Phase, e.TaskID, conflictOf(err, e.TaskID))
	}
	if there.header != nil {
		return entryOf(there)
	}
	e.Sequence = there.sequence
	return e, nil
}

// conflictOf turns a refusal into a Conflict, and leaves every other error.
func conflictOf(err error, task string) error {
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	if r.last.sequence == 0 {
		return &Conflict{}
	}
	last, err := entryOf(r.last)
	if err != nil {
		last = Entry{TaskID: task, Sequence: r.last.sequence, At: r.last.at}
	}
	return &Conflict{Last: last, Stored: r.own}
}

// Last is the task's last message as some replica has it: perhaps an older one. ErrNotFound if there is none.
func (l *Ledger) Last(ctx context.Context, task string) (Entry, error) {
	if err := schemas.CheckTaskID(task); err != nil {
		return Entry{}, err
	}
	return l.entry(l.conn.directGet(ctx, ledgerStream, query{LastBySubject: taskFilter(task)}))
}

// LastAtLeader is the task's last message for certain. ErrNotFound if there is none.
func (l *Ledger) LastAtLeader(ctx context.Context, task string) (Entry, error) {
	if err := schemas.CheckTaskID(task); err != nil {
		return Entry{}, err
	}
	return l.entry(l.conn.askLeader(ctx, ledgerStream, query{LastBySubject: taskFilter(task)}))
}

// LastOfPhase is the task's last message of one phase, for certain: the latest assigned one, say, for its payload.
func (l *Ledger) LastOfPhase(ctx context.Context, task string, phase schemas.Phase) (Entry, error) {
	if err := errors.Join(schemas.CheckTaskID(task), checkPhase(phase)); err != nil {
		return Entry{}, err
	}
	return l.entry(l.conn.askLeader(ctx, ledgerStream, query{LastBySubject: phaseFilter(task, phase)}))
}

// At is the message with that sequence, for certain. ErrNotFound if the ledger has it no longer, or not yet. A message never changes,
// so any replica that has it will do; that it is not there is only believed of the leader.
func (l *Ledger) At(ctx context.Context, sequence uint64) (Entry, error) {
	if sequence == 0 {
		return Entry{}, fmt.Errorf("read ledger: %w", ErrNotFound)
	}
	if found, err := l.conn.directGet(ctx, ledgerStream, query{Sequence: sequence}); err == nil {
		return entryOf(found)
	}
	return l.entry(l.conn.askLeader(ctx, ledgerStream, query{Sequence: sequence}))
}

func (l *Ledger) entry(s stored, err error) (Entry, error) {
	if err != nil {
		return Entry{}, fmt.Errorf("read ledger: %w", err)
	}
	return entryOf(s)
}

// LedgerState is where the ledger stands. Created tells one ledger from another; Now is the leader's clock.
type LedgerState struct {
	First, Last, Messages, Bytes uint64
	Created, Now                 time.Time
}

// State asks the leader where the ledger stands.
func (l *Ledger) State(ctx context.Context) (LedgerState, error) {
	var answer struct {
		apiAnswer
		Created time.Time `json:"created"`
		Now     time.Time `json:"ts"`
		State   struct {
			Messages uint64 `json:"messages"`
			Bytes    uint64 `json:"bytes"`
			First    uint64 `json:"first_seq"`
			Last     uint64 `json:"last_seq"`
		} `json:"state"`
	}
	if err := l.conn.callAPI(ctx, "STREAM.INFO."+ledgerStream, nil, &answer); err != nil {
		return LedgerState{}, fmt.Errorf("read the ledger's state: %w", err)
	}
	s := answer.State
	return LedgerState{
		First: s.First, Last: s.Last, Messages: s.Messages, Bytes: s.Bytes, Created: answer.Created, Now: answer.Now,
	}, nil
}
