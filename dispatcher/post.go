package dispatcher

import (
	"slices"

	"github.com/agentreach/agent-reach/dispatcher/slots"
	"github.com/agentreach/agent-reach/dispatcher/stats"
	"github.com/agentreach/agent-reach/schemas"
)

// post is what an agent is for one capability: what each ranking of a thousand agents needs, found once. Its owner holds a lock.
type post struct {
	offer  *schemas.Offer
	narrow narrow
	slots  int
	series *stats.Series // nil until it was first looked for with success
}

func postsOf(r *schemas.Registration, narrow map[string]narrow) []post {
	posts := make([]post, len(r.Capabilities))
	for i := range r.Capabilities {
		offer := &r.Capabilities[i]
		posts[i] = post{offer: offer, narrow: narrow[offer.ID], slots: r.Slots(offer.ID)}
	}
	return posts
}

// post is the agent's for a capability; nil if it does not offer it.
func (a *agent) post(capability string) *post {
	for i := range a.posts {
		if a.posts[i].offer.ID == capability {
			return &a.posts[i]
		}
	}
	return nil
}

// offers reports whether the agent's last heartbeat did not leave a capability out.
func (a *agent) offers(capability string) bool {
	return a.beat.Capabilities == nil || slices.Contains(a.beat.Capabilities, capability)
}

// accepts reports whether the agent takes this payload; nil stands for one that is not at hand, and is checked when it is.
func (p *post) accepts(payload schemas.Payload) bool {
	return payload == nil || p.narrow.input == nil || p.narrow.input.Check(p.narrow.words.Payload(payload)) == nil
}

// mayRepeat reports whether the agent itself does not mind running a task twice.
func (p *post) mayRepeat() bool { return p.offer.Idempotent == nil || *p.offer.Idempotent }

// series is what is known of an agent with a capability.
func (v *view) series(a *agent, p *post) *stats.Series {
	if p.series == nil {
		p.series = v.speeds.Of(a.id(), p.offer.ID)
	}
	return p.series
}

// room is how many slots an agent has for a capability and how many of them are taken. Where all its capabilities together are bounded
// more tightly than this one, the tighter bound stands.
func (v *view) room(a *agent, p *post) (most, inFlight int) {
	load := v.tasks.Load(a.id())
	of, all := load.Of(p.offer.ID), load.Total()
	reserved, ofAll := v.slots.Of(slots.Slot{AgentID: a.id(), Capability: p.offer.ID})
	of, all = of+reserved, all+ofAll
	if a.slots-all < p.slots-of {
		return a.slots, all
	}
	return p.slots, of
}

// takes reports whether the agent offers a capability and accepts this payload.
func (a *agent) takes(capability string, payload schemas.Payload) bool {
	p := a.post(capability)
	return p != nil && p.accepts(payload)
}
