package route

import (
	"github.com/agentreach/agent-reach/dispatcher/score"
)

// Route is one route as it was written, in canonical form.
type Route struct {
	Name     string             `json:"name"`
	Match    Condition          `json:"match"`
	Target   Target             `json:"target"`
	Fallback *Fallback          `json:"fallback,omitzero"`
	Timeouts Timeouts           `json:"timeouts,omitzero"`
	Weights  map[string]float64 `json:"weights,omitempty"`
}

// Condition is what a route wants of a message; what is empty wants nothing.
type Condition struct {
	Intent       string   `json:"intent,omitzero"`
	RequiredTags []string `json:"required_tags,omitempty"` // the message has all of these
	Tenant       string   `json:"tenant,omitzero"`
}

// Target is where a route leads.
type Target struct {
	Capability string         `json:"capability"`
	Strategy   score.Strategy `json:"strategy,omitzero"` // empty: as the house does
	StickyBy   string         `json:"sticky_by,omitzero"`
	MinVersion string         `json:"min_version,omitzero"`
	Version    string         `json:"version,omitzero"` // a range
	Split      []Split        `json:"split,omitempty"`
}

// Split sends a share of the tasks to agents of some versions, and the other tasks to agents of all other versions.
type Split struct {
	Version string  `json:"version"` // a range
	Percent float64 `json:"percent"`
}

// Fallback is where a task goes, once, that no agent of the target can run.
type Fallback struct {
	Capability string         `json:"capability"`
	Strategy   score.Strategy `json:"strategy,omitzero"`
}

// Timeouts stand in for those that a message does not name.
type Timeouts struct {
	TimeoutMS    int64 `json:"timeout_ms,omitzero"`
	RunTimeoutMS int64 `json:"run_timeout_ms,omitzero"`
}

// compiled is a route made ready.
type compiled struct {
	Route
	intent   string // normalised
	weights  *score.Weights
	versions Versions
	shares   []share
	lines    lines
}

// share is one part of a split: the messages whose place is below upTo, and not below that of the part before.
type share struct {
	version  string // empty: the rest
	upTo     float64
	versions Versions
}

// lines are where things stand in the file.
type lines struct{ route, target, fallback int }
