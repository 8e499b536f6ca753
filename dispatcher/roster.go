package dispatcher

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// roster is the agents that have registered, and what was heard of each. Its owner holds a lock.
type roster struct {
	agents       map[string]*agent
	byCapability map[string][]*agent // by agent_id
	complete     bool                // it has all that was there when this dispatcher started: what comes from now on has just registered
}

// agent is one registered agent: Record is the registry's, all else was heard on this dispatcher's clock.
type agent struct {
	record   broker.AgentRecord
	revision uint64
	heard    time.Time // the last sign of life; zero if there was none since this dispatcher started
	well     time.Time // the last one while it could do anything: of an agent that is ill, its worker still is heard
	goodbye  bool      // it said that it stops
	gone     time.Time // since when nobody answers for it; zero if somebody does, or nobody asked
	posted   time.Time // when its registration came; zero if that was before this dispatcher started
	spoken   bool      // its present instance has said something since
	asked    time.Time // when this dispatcher last asked whether it is there
	beat     schemas.Heartbeat
	narrow   map[string]narrow // by capability
	posts    []post            // one for each capability
	slots    int               // of all of them together

	version    *semver.Version // nil if it has none that can be compared
	costWeight *float64
	streams    bool // its transport hands results over piece by piece
	fetches    bool // it can be given payloads that are too large for a message
}

func newRoster() *roster {
	return &roster{agents: make(map[string]*agent), byCapability: make(map[string][]*agent)}
}

// put takes a record in. One of a process that has just registered is a sign of life, whichever dispatcher it registered with.
func (r *roster) put(record broker.AgentRecord, revision uint64, narrow map[string]narrow, now time.Time) {
	id := record.Registration.AgentID
	old := r.agents[id]
	if old != nil && old.revision >= revision {
		return
	}
	r.drop(id)
	a := &agent{record: record, revision: revision, narrow: narrow}
	a.read(&a.record.Registration)
	switch {
	case old != nil && old.record.RegisteredAt == record.RegisteredAt:
		a.posted = old.posted
	case r.complete:
		a.posted = now
	}
	if old != nil && old.instance() == record.Registration.InstanceID {
		a.heard, a.well, a.goodbye, a.gone, a.beat, a.spoken = old.heard, old.well, old.goodbye, old.gone, old.beat, old.spoken
		if old.record.State == schemas.AgentDraining && record.State == schemas.AgentOnline {
			a.beat.State = schemas.AgentOnline // its last heartbeat was from before the drain was ended
		}
	} else if r.complete {
		a.sign(now)
	}
	r.agents[id] = a
	for _, offer := range record.Registration.Capabilities {
		r.list(offer.ID, a)
	}
}

// read takes out of a registration what each ranking looks at.
func (a *agent) read(r *schemas.Registration) {
	a.version, _ = semver.NewVersion(r.Version)
	a.posts, a.slots = postsOf(r, a.narrow), r.TotalSlots()
	a.streams = streaming[r.Transport.Type]
	a.fetches = r.LargeBodies || r.Transport.Type == schemas.TransportClaim // a desk fetches for it
	var metadata struct {
		CostWeight *float64 `json:"cost_weight"`
	}
	if schemas.Decode(r.Metadata, &metadata) == nil {
		a.costWeight = metadata.CostWeight
	}
}

// streaming are the transports that hand a result over piece by piece.
var streaming = map[string]bool{
	"func": true, schemas.TransportClaim: true, schemas.TransportMQTT: true, "sse": true, "websocket": true, "grpc": true, "subprocess": true, "mcp": true,
	"openai": true, "a2a": true,
}

func (r *roster) list(capability string, a *agent) {
	place, _ := slices.BinarySearchFunc(r.byCapability[capability], a.id(), func(b *agent, id string) int {
		return strings.Compare(b.id(), id)
	})
	r.byCapability[capability] = slices.Insert(r.byCapability[capability], place, a)
}

func (r *roster) drop(id string) {
	old := r.agents[id]
	if old == nil {
		return
	}
	delete(r.agents, id)
	for _, offer := range old.record.Registration.Capabilities {
		left := slices.DeleteFunc(r.byCapability[offer.ID], func(a *agent) bool { return a == old })
		if len(left) == 0 {
			delete(r.byCapability, offer.ID)
		} else {
			r.byCapability[offer.ID] = left
		}
	}
}

func idsOf(agents []*agent) []string {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.id()
	}
	return ids
}

func (a *agent) id() string       { return a.record.Registration.AgentID }
func (a *agent) instance() string { return a.record.Registration.InstanceID }

// sign notes a sign of life of the agent's present instance. It takes no goodbye back: only a later heartbeat does.
func (a *agent) sign(now time.Time) {
	a.heard, a.gone = now, time.Time{}
	if !a.ill() {
		a.well = now
	}
}

// ill reports whether the agent's worker says that it can do nothing now.
func (a *agent) ill() bool {
	return a.beat.Capabilities != nil && len(a.beat.Capabilities) == 0
}

// judgement is what liveness is judged by: TTL of silence, and the moment before which nobody is judged.
type judgement struct {
	now   time.Time
	ttl   time.Duration
	grace time.Duration
	from  time.Time
}

// settling reports whether the grace of those who lost their connections at the beginning of this time runs on.
func (j judgement) settling() bool { return j.now.Before(j.from.Add(j.grace - j.ttl)) }

// state is where the agent stands.
func (a *agent) state(j judgement) schemas.AgentState {
	switch {
	case a.record.State == schemas.AgentPending:
		return schemas.AgentPending
	case a.dead(j) || !a.gone.IsZero():
		return schemas.AgentOffline
	case a.record.State == schemas.AgentDraining || a.beat.State == schemas.AgentDraining:
		return schemas.AgentDraining
	case a.record.State == schemas.AgentDegraded || a.ill():
		return schemas.AgentDegraded
	}
	return schemas.AgentOnline
}

// dead reports whether the agent's tasks are to be rescued: it said goodbye, nobody has answered for it during the grace, or it was
// silent for the whole TTL.
func (a *agent) dead(j judgement) bool {
	if a.goodbye || a.instance() == "" { // nobody drives it
		return true
	}
	if j.now.Before(j.from) {
		return false
	}
	silent := j.now.Sub(latest(a.heard, j.from.Add(-j.ttl))) >= j.ttl
	disconnected := !a.gone.IsZero() && j.now.Sub(a.gone) >= j.grace
	return silent || disconnected
}

// adoptedWithin bounds how long an agent that has posted itself counts as about to be adopted.
const adoptedWithin = 3 * time.Second

// comes reports whether the agent has posted itself just now, and whoever adopts it may be about to.
func (a *agent) comes(j judgement) bool {
	return a.record.Registration.Adopt && a.state(j) == schemas.AgentOffline && j.now.Sub(a.posted) < min(j.grace, adoptedWithin)
}

// comes reports whether nobody can take a task of that capability now, but somebody is about to be adopted who may.
func (r *roster) comes(capability string, j judgement) bool {
	coming := false
	for _, a := range r.byCapability[capability] {
		if a.serves(capability, j) {
			return false
		}
		coming = coming || a.comes(j)
	}
	return coming
}

// serves reports whether the agent can take a task of that capability now.
func (a *agent) serves(capability string, j judgement) bool {
	return a.state(j) == schemas.AgentOnline && a.offers(capability)
}

func (a *agent) view(j judgement, inFlight int) schemas.Agent {
	state := a.state(j)
	return schemas.Agent{
		AgentID: a.id(), State: state, LastSeenAt: schemas.At(a.well), InFlight: inFlight, LoadAvg: a.load(),
		Trouble: a.trouble(state), Registration: a.record.Registration,
	}
}

// load is what the last heartbeat of the agent's present instance said; nil if there was none.
func (a *agent) load() *float64 {
	if a.beat.InstanceID == "" {
		return nil
	}
	said := a.beat.LoadAvg
	return &said
}

// trouble is why the agent is degraded; empty where it is not.
func (a *agent) trouble(state schemas.AgentState) string {
	switch {
	case state != schemas.AgentDegraded:
		return ""
	case a.ill():
		return cmp.Or(a.beat.Trouble, "it says that it can do nothing now")
	}
	return cmp.Or(a.record.Trouble, "its probes fail")
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
