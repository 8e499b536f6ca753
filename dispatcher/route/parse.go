package route

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// Bounds of a file of routes.
const (
	MaxBytes     = 4 << 20
	MaxRoutes    = 1000
	MaxSplits    = 16
	MaxNameBytes = 64
)

const (
	maxVersionBytes = 256
	maxWordBytes    = 64 // names of strategies, factors, presets, members
)

// Parse reads a file of routes, YAML or JSON: a list under routes. The error is Problems.
func Parse(data []byte) (*Table, error) {
	if len(data) > MaxBytes {
		return nil, Problems{{1, "the file has more than 4 MiB"}}
	}
	root, err := readYAML(data)
	if err != nil {
		return nil, err
	}
	var r reader
	t := new(Table)
	r.object(root, "the file", fields{
		"routes": func(n *yaml.Node) {
			if n.ShortTag() != "!!null" {
				r.each(n, "routes", MaxRoutes, func(n *yaml.Node) { t.routes = append(t.routes, r.route(n)) })
			}
		},
	}, "routes")
	r.compare(t.routes)
	if err := r.problems.orNil(); err != nil {
		return nil, err
	}
	return t, nil
}

func (r *reader) route(n *yaml.Node) *compiled {
	c := &compiled{lines: lines{route: n.Line}}
	r.object(n, "a route", fields{
		"name":     func(n *yaml.Node) { c.Name = r.text(n, "name", MaxNameBytes) },
		"match":    func(n *yaml.Node) { r.condition(n, c) },
		"target":   func(n *yaml.Node) { r.target(n, c) },
		"fallback": func(n *yaml.Node) { r.fallback(n, c) },
		"timeouts": func(n *yaml.Node) { r.timeouts(n, &c.Timeouts) },
		"weights":  func(n *yaml.Node) { r.weights(n, c) },
	}, "name", "match", "target")
	return c
}

func (r *reader) condition(n *yaml.Node, c *compiled) {
	r.object(n, "match", fields{
		"intent": func(n *yaml.Node) {
			c.Match.Intent = r.text(n, "intent", schemas.MaxIntentBytes)
			if c.intent = dictionary.Normalise(c.Match.Intent); c.Match.Intent != "" && c.intent == "" {
				r.problem(n, "intent takes words")
			}
		},
		"required_tags": func(n *yaml.Node) {
			r.each(n, "required_tags", schemas.MaxTags, func(n *yaml.Node) {
				c.Match.RequiredTags = append(c.Match.RequiredTags, r.text(n, "a tag", schemas.MaxTagBytes))
			})
			slices.Sort(c.Match.RequiredTags)
			c.Match.RequiredTags = slices.Compact(c.Match.RequiredTags)
		},
		"tenant": func(n *yaml.Node) {
			c.Match.Tenant = r.text(n, "tenant", maxWordBytes)
			r.refuse(n, c.Match.Tenant, schemas.CheckTenant)
		},
	})
	if c.Match.Intent == "" && len(c.Match.RequiredTags) == 0 && c.Match.Tenant == "" && n.Kind == yaml.MappingNode {
		r.problem(n, "match needs an intent, required_tags or a tenant")
	}
}

// refuse passes on what a check has against a text that is there.
func (r *reader) refuse(n *yaml.Node, text string, check func(string) error) {
	if text == "" {
		return
	}
	if err := check(text); err != nil {
		r.problem(n, "%s", schemas.AsError(err).Message)
	}
}

func (r *reader) target(n *yaml.Node, c *compiled) {
	c.lines.target = n.Line
	t := &c.Target
	r.object(n, "target", fields{
		"capability":  func(n *yaml.Node) { t.Capability, c.lines.target = r.capability(n), n.Line },
		"strategy":    func(n *yaml.Node) { t.Strategy = r.strategy(n) },
		"sticky_by":   func(n *yaml.Node) { t.StickyBy = r.text(n, "sticky_by", maxWordBytes) },
		"min_version": func(n *yaml.Node) { t.MinVersion = r.minVersion(n, c) },
		"version":     func(n *yaml.Node) { t.Version = r.version(n, c) },
		"split":       func(n *yaml.Node) { r.split(n, c) },
	}, "capability")
}

func (r *reader) capability(n *yaml.Node) string {
	id := r.text(n, "capability", maxWordBytes)
	r.refuse(n, id, schemas.CheckCapability)
	return id
}

func (r *reader) strategy(n *yaml.Node) string {
	strategy, err := score.ParseStrategy(r.text(n, "strategy", maxWordBytes))
	if err != nil {
		r.problem(n, "%s", err)
	}
	return string(strategy)
}

func (r *reader) minVersion(n *yaml.Node, c *compiled) string {
	text := r.text(n, "min_version", maxVersionBytes)
	r.check(n, schemas.ReachMessage{MinVersion: text})
	if from, err := semver.NewConstraint(">=" + text); err == nil {
		c.versions = c.versions.within(from)
	}
	return text
}

func (r *reader) version(n *yaml.Node, c *compiled) string {
	text, ranged := r.versionRange(n)
	if ranged != nil {
		c.versions = c.versions.within(ranged)
	}
	return text
}

// versionRange reads a range of versions; it is nil if there is a problem with it.
func (r *reader) versionRange(n *yaml.Node) (string, *semver.Constraints) {
	text := r.text(n, "version", maxVersionBytes)
	r.check(n, schemas.ReachMessage{Version: text})
	ranged, err := semver.NewConstraint(text)
	if err != nil {
		return text, nil
	}
	return text, ranged
}

// split reads the shares of versions. What they leave over goes to the versions that none of them names.
func (r *reader) split(n *yaml.Node, c *compiled) {
	var rest Versions
	var upTo float64
	r.each(n, "split", MaxSplits, func(n *yaml.Node) {
		s, ranged := r.part(n)
		if slices.ContainsFunc(c.Target.Split, func(other schemas.RouteSplit) bool { return s.Version != "" && other.Version == s.Version }) {
			r.problem(n, "the version %s is there twice", s.Version)
		}
		c.Target.Split = append(c.Target.Split, s)
		if ranged == nil {
			return
		}
		rest = rest.without(ranged)
		upTo += s.Percent
		c.shares = append(c.shares, share{s.Version, upTo / 100, Versions{}.within(ranged)})
	})
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		r.problem(n, "split is a list with a version and its percent at least")
	}
	switch sum := math.Round(upTo*100) / 100; {
	case sum > 100:
		r.problem(n, "the shares of split are %v percent together; 100 is the most", sum)
	case sum < 100:
		c.shares = append(c.shares, share{"", 1, rest})
	case len(c.shares) > 0:
		c.shares[len(c.shares)-1].upTo = 1 // whatever rounding has left over
	}
}

func (r *reader) part(n *yaml.Node) (s schemas.RouteSplit, ranged *semver.Constraints) {
	r.object(n, "a part of split", fields{
		"version": func(n *yaml.Node) { s.Version, ranged = r.versionRange(n) },
		"percent": func(n *yaml.Node) {
			if s.Percent = r.number(n, "percent"); s.Percent < 0 || s.Percent > 100 {
				r.problem(n, "percent takes 0 to 100")
			}
		},
	}, "version", "percent")
	return s, ranged
}

func (r *reader) fallback(n *yaml.Node, c *compiled) {
	c.lines.fallback = n.Line
	c.Fallback = new(schemas.RouteFallback)
	r.object(n, "fallback", fields{
		"capability": func(n *yaml.Node) { c.Fallback.Capability, c.lines.fallback = r.capability(n), n.Line },
		"strategy":   func(n *yaml.Node) { c.Fallback.Strategy = r.strategy(n) },
	}, "capability")
}

func (r *reader) timeouts(n *yaml.Node, t *schemas.RouteTimeouts) {
	r.object(n, "timeouts", fields{
		"timeout_ms": func(n *yaml.Node) {
			t.TimeoutMS = r.integer(n, "timeout_ms")
			r.check(n, schemas.ReachMessage{TimeoutMS: t.TimeoutMS})
		},
		"run_timeout_ms": func(n *yaml.Node) {
			t.RunTimeoutMS = r.integer(n, "run_timeout_ms")
			r.check(n, schemas.ReachMessage{RunTimeoutMS: t.RunTimeoutMS})
		},
	})
}

// check passes on what is wrong with a field of a message: a route takes what a caller may ask for.
func (r *reader) check(n *yaml.Node, m schemas.ReachMessage) {
	m.Capability = "any"
	if err := m.Check(); err != nil {
		r.problem(n, "%s", err.Message)
	}
}

// weights reads the name of a preset, or factors with their weights.
func (r *reader) weights(n *yaml.Node, c *compiled) {
	if n.Kind == yaml.ScalarNode {
		preset, found := score.Preset(n.Value)
		if !found {
			r.problem(n, "weights are usual, quality, frugal, or factors with their weights")
		}
		c.weights, c.Weights = &preset, named(preset)
		return
	}
	c.Weights = make(map[string]float64)
	known := make(fields)
	for _, factor := range score.FactorNames() {
		known[factor] = func(n *yaml.Node) { c.Weights[factor] = r.number(n, "the weight of "+factor) }
	}
	before := len(r.problems)
	r.object(n, "weights", known)
	if len(r.problems) > before {
		return
	}
	weights, err := score.ParseWeights(c.Weights)
	if err != nil {
		r.problem(n, "%s", err)
	}
	c.weights = &weights
}

func named(w score.Weights) map[string]float64 {
	all := score.Factors(w).ByName()
	for name, weight := range all {
		if weight == 0 {
			delete(all, name)
		}
	}
	return all
}

// compare looks at the routes beside each other.
func (r *reader) compare(routes []*compiled) {
	names, conditions := make(map[string]int), make(map[string]*compiled)
	for _, c := range routes {
		if line := names[c.Name]; line > 0 && c.Name != "" {
			r.at(c.lines.route, "the name %s is there twice", quote(c.Name))
		}
		names[c.Name] = c.lines.route
		condition := strings.Join(append([]string{c.intent, c.Match.Tenant}, c.Match.RequiredTags...), "\n")
		if first := conditions[condition]; first != nil && strings.Trim(condition, "\n") != "" {
			r.at(c.lines.route, "this route is never reached: %s matches the same", quote(first.Name))
		}
		conditions[condition] = cmp.Or(conditions[condition], c)
	}
}
