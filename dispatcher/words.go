package dispatcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// watchDictionary puts the starter set and the configured entries into the dictionary, where they are missing, and follows every
// change of it.
func (d *Dispatcher) watchDictionary(ctx context.Context) error {
	empty, err := dictionary.New(nil)
	if err != nil {
		return err
	}
	d.dictionary.Store(empty)
	if err := d.seedDictionary(ctx); err != nil {
		return err
	}
	ready, err := d.conn.Capabilities().Watch(ctx, d.learnWord)
	if err != nil {
		return fmt.Errorf("watch the dictionary: %w", err)
	}
	return waitReady(ctx, ready)
}

func waitReady(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Dispatcher) seedDictionary(ctx context.Context) error {
	for _, c := range dictionary.Starter() {
		if _, err := d.conn.Capabilities().Create(ctx, c.ID, c, 0); err != nil && !errors.Is(err, broker.ErrExists) {
			return fmt.Errorf("store capability %s: %w", c.ID, err)
		}
	}
	for _, c := range d.cfg.Capabilities {
		if err := d.seed(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// seed creates a configured entry. A file only creates: one that differs from what is stored is an error.
func (d *Dispatcher) seed(ctx context.Context, c schemas.Capability) error {
	prepared, err := dictionary.Prepare(c)
	if err != nil {
		return fmt.Errorf("capability %s: %w", c.ID, err)
	}
	_, err = d.conn.Capabilities().Create(ctx, prepared.ID, prepared, 0)
	if !errors.Is(err, broker.ErrExists) {
		return err
	}
	stored, err := d.conn.Capabilities().Get(ctx, prepared.ID)
	if err != nil {
		return err
	}
	if !sameEntry(stored.Value, prepared) {
		return fmt.Errorf("capability %s differs from the stored one: change it with reach capability add --replace, or rename it", c.ID)
	}
	return nil
}

func sameEntry(a, b schemas.Capability) bool {
	return bytes.Equal(schemas.MustEncode(a), schemas.MustEncode(b))
}

// learnWord takes one change of the dictionary, by the watch or by whoever has just stored it.
func (d *Dispatcher) learnWord(item broker.Item[schemas.Capability]) {
	d.learning.Lock()
	defer d.learning.Unlock()
	if !d.learned.note(item.Key, item.Revision, item.Deleted) {
		return // whoever has stored it comes behind the watch, which knows of a later one
	}
	words := d.dictionary.Load()
	if item.Deleted {
		d.dictionary.Store(words.Without(item.Key))
		return
	}
	if entry, found := words.Entry(item.Key); found && sameEntry(entry.Capability, item.Value) {
		return // known already: a schema takes long to compile, and whoever stores one hears of it twice
	}
	changed, err := words.With(item.Value)
	if err != nil {
		d.log.Error().Err(err).Str("capability", item.Key).Msg("a stored capability cannot be used")
		return
	}
	d.dictionary.Store(changed)
}

// ListCapabilities is the dictionary, by id.
func (d *Dispatcher) ListCapabilities(context.Context) (*schemas.CapabilityPage, error) {
	return &schemas.CapabilityPage{Items: d.dictionary.Load().List()}, nil
}

// Capability is one entry of the dictionary.
func (d *Dispatcher) Capability(_ context.Context, id string) (*schemas.Capability, error) {
	entry, found := d.dictionary.Load().Entry(id)
	if !found {
		return nil, d.dictionary.Load().NotFound(id)
	}
	return &entry.Capability, nil
}

// AddCapability puts an entry into the dictionary. Without Replace it only creates; adding the same again is no error.
func (d *Dispatcher) AddCapability(ctx context.Context, add *schemas.AddCapability) (*schemas.Capability, error) {
	changed, err := d.dictionary.Load().With(add.Capability)
	if err != nil {
		return nil, schemas.AsError(err)
	}
	entry, _ := changed.Entry(add.Capability.ID)
	prepared := entry.Capability
	var revision uint64
	if add.Replace {
		revision, err = d.conn.Capabilities().Put(ctx, prepared.ID, prepared)
	} else {
		revision, err = d.conn.Capabilities().Create(ctx, prepared.ID, prepared, 0)
	}
	if errors.Is(err, broker.ErrExists) {
		return d.addedBefore(prepared)
	}
	if err != nil {
		return nil, refusal(err)
	}
	d.learnWord(broker.Item[schemas.Capability]{Key: prepared.ID, Value: prepared, Revision: revision})
	return &prepared, nil
}

func (d *Dispatcher) addedBefore(c schemas.Capability) (*schemas.Capability, error) {
	if entry, found := d.dictionary.Load().Entry(c.ID); found && sameEntry(entry.Capability, c) {
		return &c, nil
	}
	return nil, schemas.NewError(schemas.AlreadyExists, "CAPABILITY_EXISTS", "%s exists and differs: replace it on purpose (--replace), or choose another id", c.ID).
		With("field", "/id")
}
