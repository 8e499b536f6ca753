package route

import (
	"slices"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// Match is what a message was found to ask for.
type Match struct {
	Rule       Rule
	Route      string // its name; empty if none matched
	Meant      string // by meaning, the words that the intent was taken for; else empty
	Similarity float64
	Capability string
	Strategy   score.Strategy // empty: as the house does
	Weights    *score.Weights // nil: as the house does
	Versions   Versions       // of agents that may run it: the message's own range, and the route's
	Share      string         // of a split, the range of the share that it fell to; empty without a split, and for the rest of one
	Within     Versions       // the share's, which counts while an agent of it is there; all without a split
	Sticky     string         // what tasks that belong together have in common
	Timeout    time.Duration  // of the route, for a message without; 0: none
	RunTimeout time.Duration
	Fallback   *schemas.RouteFallback // nil: none
}

// Rule is how the capability was found.
type Rule string

// The rules, in the order in which they are tried.
const (
	ByRoute      Rule = "route"
	ByCapability Rule = "capability"
	ByAlias      Rule = "alias"
)

// ByMeaning is how a capability was found of whose intent no words are known. Match knows nothing of meanings: whoever does asks it
// again in words that it knows.
const ByMeaning Rule = "meaning"

// Match finds what a message asks for. A message with an intent takes the first route that matches, else the capability of which
// the intent is the id or an alias. One with a capability keeps it, for that names a contract: it takes the first route that
// matches and leads there. The error is NOT_FOUND with the nearest capabilities, or INVALID_ARGUMENT for a range that is none.
func (t *Table) Match(m *schemas.ReachMessage, words *dictionary.Dictionary) (Match, *schemas.Error) {
	own, err := ownVersions(m)
	if err != nil {
		return Match{}, err
	}
	found, err := t.find(m, words)
	if err != nil {
		return Match{}, err
	}
	match := Match{Rule: found.rule, Capability: found.capability, Versions: own, Sticky: StickyKey(m, DefaultStickyBy)}
	if found.route != nil {
		match.follow(found.route, m)
	}
	return match, nil
}

// finding is where a message leads.
type finding struct {
	rule       Rule
	capability string
	route      *compiled
}

func (t *Table) find(m *schemas.ReachMessage, words *dictionary.Dictionary) (finding, *schemas.Error) {
	if m.Capability != "" {
		return t.findCapability(m, words)
	}
	intent := dictionary.Normalise(m.Intent)
	id, known := words.Resolve(m.Intent)
	for _, c := range t.all() {
		if c.matches(m) && (c.intent == "" || c.intent == intent || known && c.intent == id) {
			return c.found(words)
		}
	}
	switch {
	case !known:
		return finding{}, words.NotFound(m.Intent)
	case id == intent:
		return finding{ByCapability, id, nil}, nil
	}
	return finding{ByAlias, id, nil}, nil
}

func (t *Table) findCapability(m *schemas.ReachMessage, words *dictionary.Dictionary) (finding, *schemas.Error) {
	if _, known := words.Entry(m.Capability); !known {
		return finding{}, words.NotFound(m.Capability)
	}
	for _, c := range t.all() {
		if c.Target.Capability == m.Capability && c.matches(m) && c.means(m.Capability, words) {
			return c.found(words)
		}
	}
	return finding{ByCapability, m.Capability, nil}, nil
}

// matches reports whether everything but the intent fits.
func (c *compiled) matches(m *schemas.ReachMessage) bool {
	if c.Match.Tenant != "" && c.Match.Tenant != m.Tenant {
		return false
	}
	return !slices.ContainsFunc(c.Match.RequiredTags, func(tag string) bool { return !slices.Contains(m.Tags, tag) })
}

// means reports whether the route's intent is a capability, in whatever words, or any.
func (c *compiled) means(capability string, words *dictionary.Dictionary) bool {
	id, known := words.Resolve(c.intent)
	return c.intent == "" || known && id == capability
}

func (c *compiled) found(words *dictionary.Dictionary) (finding, *schemas.Error) {
	if _, known := words.Entry(c.Target.Capability); !known {
		return finding{}, words.NotFound(c.Target.Capability).With("route", c.Name)
	}
	return finding{ByRoute, c.Target.Capability, c}, nil
}

// follow fills in what a route says.
func (m *Match) follow(c *compiled, message *schemas.ReachMessage) {
	m.Route, m.Strategy, m.Weights, m.Fallback = c.Name, score.Strategy(c.Target.Strategy), c.weights, c.Fallback
	m.Timeout, m.RunTimeout = schemas.Duration(c.Timeouts.TimeoutMS), schemas.Duration(c.Timeouts.RunTimeoutMS)
	m.Versions = c.versions.both(m.Versions)
	if c.Target.StickyBy != "" {
		m.Sticky = StickyKey(message, c.Target.StickyBy)
	}
	if share := c.shareOf(m.Sticky); share != nil {
		m.Share = share.version
		m.Within = share.versions
	}
}

// shareOf is the part of the split that a key belongs to; nil without a split. A key keeps its place: where a share grows, keys
// only move into it.
func (c *compiled) shareOf(key string) *share {
	place := score.Place(key, c.Name)
	for i := range c.shares {
		if place < c.shares[i].upTo {
			return &c.shares[i]
		}
	}
	return nil
}

// ownVersions is the range that the message itself asks for.
func ownVersions(m *schemas.ReachMessage) (Versions, *schemas.Error) {
	text, field := m.Version, "/version"
	if text == "" && m.MinVersion != "" {
		text, field = ">="+m.MinVersion, "/min_version"
	}
	if text == "" {
		return Versions{}, nil
	}
	c, err := semver.NewConstraint(text)
	if err != nil {
		return Versions{}, schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue,
			"the version range is not valid: write it like >=1.2.0, <2").With("field", field)
	}
	return Versions{}.within(c), nil
}
