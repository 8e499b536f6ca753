package score

import (
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/agentreach/agent-reach/schemas"
)

// Why is the reason for which an agent may not have a task.
type Why string

// The reasons, in the order in which they are looked at.
const (
	WhyPending    Why = "pending" // nobody has approved it
	WhyOffline    Why = "offline"
	WhyDraining   Why = "draining"   // it takes nothing new
	WhyDegraded   Why = "degraded"   // its probes fail, or it is not well
	WhyCapability Why = "capability" // it does not offer the capability now
	WhyAgent      Why = "agent"      // another one is asked for by name
	WhyTried      Why = "tried"      // it has failed with this task, or does not want it
	WhyGroup      Why = "group"      // the tenant may not reach its groups
	WhyVersion    Why = "version"    // its version is out of range
	WhyBreaker    Why = "breaker"    // its circuit breaker is open
	WhyMode       Why = "mode"       // it cannot stream, and must
	WhyLarge      Why = "large"      // its worker takes no payload by reference
	WhySchema     Why = "schema"     // its own schema refuses the payload
)

// What there is beside them to say of an agent that is asked for by name.
const (
	WhyUnknown  Why = "unknown"  // no agent has this name
	WhyPresumed Why = "presumed" // nobody has heard it since the dispatcher started, and others have been
)

// Want is what a task demands of an agent. The zero value demands nothing but that the agent is there and offers the capability.
type Want struct {
	Agent    string // this one and no other
	Tried    []string
	Unfit    []string // of these it is known that their schemas do not accept the payload
	Groups   []string // an agent must be in one of these; nil: any agent will do
	Versions []Versions
	Stream   bool                  // the agent must be able to stream
	Large    bool                  // the agent's worker must fetch the payload
	Accepts  func(*Candidate) bool // whether its schema accepts the payload; asked last, for it may take its time. nil: all do
}

// Versions is a range of versions; a *semver.Constraints is one.
type Versions interface {
	Check(*semver.Version) bool
}

// Filter reports whether an agent may have a task, and if not, the first reason why. What costs least is looked at first.
func Filter(c *Candidate, w *Want) (why Why, may bool) {
	why = present(c)
	if why == "" {
		why = w.excepts(c)
	}
	return why, why == ""
}

// present is why an agent takes nothing at all now; empty if it does.
func present(c *Candidate) Why {
	switch c.State {
	case schemas.AgentOnline:
		return ""
	case schemas.AgentPending:
		return WhyPending
	case schemas.AgentDraining:
		return WhyDraining
	case schemas.AgentDegraded:
		return WhyDegraded
	}
	return WhyOffline
}

// excepts is why an agent that is there may not have the task; empty if it may.
func (w *Want) excepts(c *Candidate) Why {
	switch {
	case !c.Offers:
		return WhyCapability
	case w.Agent != "" && w.Agent != c.AgentID:
		return WhyAgent
	case slices.Contains(w.Tried, c.AgentID):
		return WhyTried
	case !w.allows(c.Groups):
		return WhyGroup
	case !w.inRange(c.Version):
		return WhyVersion
	case c.Broken:
		return WhyBreaker
	case w.Stream && !c.Streams:
		return WhyMode
	case w.Large && !c.Fetches:
		return WhyLarge
	case slices.Contains(w.Unfit, c.AgentID):
		return WhySchema
	case w.Accepts != nil && !w.Accepts(c):
		return WhySchema
	}
	return ""
}

func (w *Want) allows(groups []string) bool {
	return w.Groups == nil || slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(w.Groups, group) })
}

func (w *Want) inRange(v *semver.Version) bool {
	for _, versions := range w.Versions {
		if v == nil || !versions.Check(v) {
			return false
		}
	}
	return true
}
