package dispatcher

import (
	"testing"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// Whoever has stored something tells of it at once, and may be so late that the watch has brought what came after it.
func TestAWordThatIsToldLateIsNoNews(t *testing.T) {
	t.Parallel()
	d := &Dispatcher{learned: newLearned()}
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
}
