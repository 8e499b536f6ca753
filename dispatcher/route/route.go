package route

import (
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

// compiled is a route made ready.
type compiled struct {
	schemas.Route
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
