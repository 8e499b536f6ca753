package dispatcher

import (
	"testing"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// Whoever has stored something tells of it at once, and may be so late that the watch has brought what came after it.
func TestWhatIsToldLateIsNoNews(t *testing.T) {
	t.Parallel()
	t.Run("a word of the dictionary", func(t *testing.T) {
		t.Parallel()
		d := &Dispatcher{learned: make(map[string]uint64)}
		none, err := dictionary.New(nil)
		check(t, err)
		d.dictionary.Store(none)
		word := func(description string, revision uint64) broker.Item[schemas.Capability] {
			c := schemas.Capability{ID: "greet", Description: description, InputSchema: []byte(`true`), OutputSchema: []byte(`true`)}
			return broker.Item[schemas.Capability]{Key: "greet", Value: c, Revision: revision}
		}
		d.learnWord(word("first", 4))
		d.learnWord(word("third", 6))
		d.learnWord(word("second", 5))
		if entry, found := d.dictionary.Load().Entry("greet"); !found || entry.Description != "third" {
			t.Errorf("the dictionary has %q (%v)", entry.Description, found)
		}
	})
	t.Run("a schedule", func(t *testing.T) {
		t.Parallel()
		s := &schedules{byKey: make(map[string]*recurring)}
		at := func(revision uint64) broker.Item[broker.ScheduleRecord] {
			return broker.Item[broker.ScheduleRecord]{Key: "daily", Revision: revision}
		}
		s.hear(at(5))
		s.hear(broker.Item[broker.ScheduleRecord]{Key: "daily", Revision: 6, Deleted: true})
		if s.learn(at(5)); s.count() != 0 {
			t.Error("a schedule that was deleted is back")
		}
		if s.learn(at(7)); s.count() != 1 {
			t.Error("a schedule that was made after that is not there")
		}
	})
}
