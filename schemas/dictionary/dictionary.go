package dictionary

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

// Bounds of a dictionary. The bytes are those of all schemas and probes together: compiled, a schema takes some twenty times as much.
const (
	MaxEntries = 10_000
	MaxBytes   = 8 << 20
)

// Reasons of refusals.
const (
	ReasonNameTaken = "NAME_TAKEN"
	ReasonFull      = "DICTIONARY_FULL"
)

// Entry is one capability with its compiled contract.
type Entry struct {
	schemas.Capability
	Input, Output *contract.Schema
}

// Dictionary is one state of the dictionary. The zero value is empty.
type Dictionary struct {
	entries map[string]*Entry
	owners  map[string]string // from ids and normalised aliases to ids
	bytes   int
}

// New makes a dictionary of entries, which Prepare need not have seen. No two may share an id or an alias, and no alias may be the
// id of another.
func New(entries []schemas.Capability) (*Dictionary, error) {
	d := &Dictionary{entries: make(map[string]*Entry), owners: make(map[string]string)}
	for _, c := range entries {
		if _, found := d.entries[c.ID]; found {
			return nil, taken("/id", "%s is there twice", c.ID)
		}
		if err := d.add(c); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// With is d with one more entry, or with another entry of the same id.
func (d *Dictionary) With(c schemas.Capability) (*Dictionary, error) {
	next := d.Without(c.ID)
	if err := next.add(c); err != nil {
		return nil, err
	}
	return next, nil
}

// Without is d without an entry. It need not be there.
func (d *Dictionary) Without(id string) *Dictionary {
	next := &Dictionary{
		entries: make(map[string]*Entry, len(d.entries)+1), owners: make(map[string]string, len(d.owners)+1), bytes: d.bytes,
	}
	maps.Copy(next.entries, d.entries)
	maps.Copy(next.owners, d.owners)
	if entry, found := next.entries[id]; found {
		next.bytes -= entry.size()
		delete(next.entries, id)
	}
	maps.DeleteFunc(next.owners, func(_, owner string) bool { return owner == id })
	return next
}

// Entry is the capability with exactly this id.
func (d *Dictionary) Entry(id string) (*Entry, bool) {
	entry, found := d.entries[id]
	return entry, found
}

// List is every capability, sorted by id.
func (d *Dictionary) List() []schemas.Capability {
	list := make([]schemas.Capability, 0, len(d.entries))
	for _, id := range d.ids() {
		list = append(list, d.entries[id].Capability)
	}
	return list
}

// Resolve is the id that a caller's intent names: an id or an alias, in any spelling that Normalise knows.
func (d *Dictionary) Resolve(intent string) (id string, found bool) {
	id, found = d.owners[Normalise(intent)]
	return id, found
}

func (d *Dictionary) ids() []string { return slices.Sorted(maps.Keys(d.entries)) }

func (d *Dictionary) add(c schemas.Capability) error {
	if len(d.entries) >= MaxEntries {
		return full("%d capabilities", MaxEntries)
	}
	entry, err := prepare(c)
	if err != nil {
		return err
	}
	if d.bytes+entry.size() > MaxBytes {
		return full("%d bytes of schemas and probes", MaxBytes)
	}
	if owner, found := d.owners[entry.ID]; found {
		return taken("/id", "%s is an alias of %s", entry.ID, owner)
	}
	for i, alias := range entry.Aliases {
		name := Normalise(alias)
		if owner, found := d.owners[name]; found {
			return taken(fmt.Sprintf("/aliases/%d", i), "the alias %s belongs to %s", name, owner)
		}
	}
	d.entries[entry.ID] = entry
	d.bytes += entry.size()
	d.owners[entry.ID] = entry.ID
	for _, alias := range entry.Aliases {
		d.owners[Normalise(alias)] = entry.ID
	}
	return nil
}

// size is what of an entry counts for MaxBytes.
func (e *Entry) size() int {
	return len(e.InputSchema) + len(e.OutputSchema) + len(e.ChunkSchema) + len(e.Probe)
}

func full(format string, args ...any) error {
	e := schemas.NewError(schemas.ResourceExhausted, ReasonFull, "the dictionary is full: at most "+format, args...)
	e.Retryable = false
	return e
}

func taken(field, format string, args ...any) error {
	return schemas.NewError(schemas.AlreadyExists, ReasonNameTaken, format, args...).With("field", field)
}
