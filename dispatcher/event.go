package dispatcher

import (
	"bytes"
	"fmt"
	"strings"
	"unique"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
	"github.com/agentreach/agent-reach/schemas"
)

// event reads an entry. A dispatcher that wrote it itself need not decode it.
func (d *Dispatcher) event(e broker.Entry, own *written) index.Event {
	if own != nil && bytes.Equal(own.body, e.Body) {
		event := own.event
		event.Sequence = e.Sequence
		return event
	}
	event, err := readEvent(e, schemas.DecodeEnd)
	if event.Foreign {
		d.tellForeign(event)
	} else if err != nil {
		d.log.Error().Err(err).Str("task_id", e.TaskID).Uint64("sequence", e.Sequence).Msg("a ledger entry cannot be read")
	}
	return event
}

// decodeEvent reads an entry, of a record all; with an error the event still has its sequence, and if it is of a later version whose
// task it is.
func decodeEvent(e broker.Entry) (index.Event, error) {
	return readEvent(e, func(data []byte, r *schemas.Record) error { return schemas.Decode(data, r) })
}

func readEvent(e broker.Entry, readRecord func([]byte, *schemas.Record) error) (index.Event, error) {
	event := index.Event{
		Sequence: e.Sequence, Previous: e.Previous, TaskID: strings.Clone(e.TaskID), Phase: schemas.Phase(shared(string(e.Phase))),
		Capability: shared(e.Capability), TTL: e.TTL,
	}
	if e.Agent != schemas.NoAgent {
		event.AgentID = shared(e.Agent)
	}
	if e.Phase == schemas.PhaseDone {
		event.Record = new(schemas.Record)
		err := readRecord(e.Body, event.Record)
		if unspoken(e, event.Record.V, err) {
			return foreignEvent(event)
		}
		if err != nil {
			return index.Event{Sequence: e.Sequence}, fmt.Errorf("read the record of %s: %w", e.TaskID, err)
		}
		event.Record.Revision = e.Sequence
		return event, nil
	}
	event.Message = new(schemas.ReachMessage)
	err := schemas.DecodeHead(e.Body, event.Message)
	if unspoken(e, event.Message.V, err) {
		return foreignEvent(event)
	}
	if err != nil {
		return index.Event{Sequence: e.Sequence}, fmt.Errorf("read the message of %s: %w", e.TaskID, err)
	}
	event.Message.TaskID, event.Message.Capability = event.TaskID, event.Capability
	slim(event.Message)
	return event, nil
}

// shared is one copy of a text for all who have it. The names of an entry are parts of the message that brought them, and would keep
// all of it in memory.
func shared(text string) string { return unique.Make(text).Value() }

// slim takes from a message what the index does not keep: what may be large, and only the agent or a reader of one task needs. Whoever
// moves the task reads it from the ledger.
func slim(m *schemas.ReachMessage) {
	m.Payload, m.Metadata, m.Tags, m.Hops, m.Unknown = nil, nil, nil, nil, nil
	m.Tenant = shared(m.Tenant)
}
