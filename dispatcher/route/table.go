package route

import (
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// Table is the routes of one file, in its order: the first that matches counts. A nil Table has none.
type Table struct{ routes []*compiled }

// Routes lists the routes as they were written.
func (t *Table) Routes() []schemas.Route {
	routes := make([]schemas.Route, 0, len(t.all()))
	for _, c := range t.all() {
		routes = append(routes, c.Route)
	}
	return routes
}

// Route is the route of that name, for whoever comes back to a task that took it; false if it is there no more.
func (t *Table) Route(name string) (schemas.Route, bool) {
	for _, c := range t.all() {
		if c.Name == name {
			return c.Route, true
		}
	}
	return schemas.Route{}, false
}

// Weights are those of the route of that name; nil if it has none of its own, or is there no more.
func (t *Table) Weights(name string) *score.Weights {
	for _, c := range t.all() {
		if c.Name == name {
			return c.weights
		}
	}
	return nil
}

// Intents are those that lead a message to a route, each once, as they were written.
func (t *Table) Intents(m *schemas.ReachMessage) []string {
	var intents []string
	seen := make(map[string]bool)
	for _, c := range t.all() {
		if c.intent != "" && !seen[c.intent] && c.matches(m) {
			seen[c.intent] = true
			intents = append(intents, c.Match.Intent)
		}
	}
	return intents
}

// Check names the capabilities of routes that do not exist. The error is Problems.
func (t *Table) Check(words *dictionary.Dictionary) error {
	var problems Problems
	check := func(line int, id string) {
		if _, known := words.Entry(id); !known {
			problems = append(problems, Problem{line, words.Unknown(id).Message})
		}
	}
	for _, c := range t.all() {
		check(c.lines.target, c.Target.Capability)
		if c.Fallback != nil {
			check(c.lines.fallback, c.Fallback.Capability)
		}
	}
	return problems.orNil()
}

func (t *Table) all() []*compiled {
	if t == nil {
		return nil
	}
	return t.routes
}
