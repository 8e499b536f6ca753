package route_test

import (
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// parse makes a table of routes that are known to be fine.
func parse(t testing.TB, text string) *route.Table {
	t.Helper()
	table, err := route.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// words are the starter set, with an alias of our own.
func words(t testing.TB) *dictionary.Dictionary {
	t.Helper()
	d, err := dictionary.New(dictionary.Starter())
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := d.Entry("text_stats")
	c := entry.Capability
	c.Aliases = []string{"count_words"}
	if d, err = d.With(c); err != nil {
		t.Fatal(err)
	}
	return d
}

func match(t testing.TB, table *route.Table, m schemas.ReachMessage) route.Match {
	t.Helper()
	found, err := table.Match(&m, words(t))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
