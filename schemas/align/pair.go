package align

import (
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Pair translates between a capability's words and an agent's. A nil Pair changes nothing.
type Pair struct {
	input, output *spellings
	chunk         *spellings // nil where chunks are spelled alike, or one side says nothing of them
}

// New is nil for an alignment without spellings.
func New(a *schemas.Alignment) *Pair {
	if a.Empty() {
		return nil
	}
	p := &Pair{input: compile(a.Input), output: compile(a.Output)}
	if len(a.Chunk) > 0 {
		p.chunk = compile(a.Chunk)
	}
	return p
}

// Payload is a payload in the agent's words.
func (p *Pair) Payload(value []byte) []byte {
	if p == nil {
		return value
	}
	return p.input.there.apply(value)
}

// Result is an agent's result in the capability's words.
func (p *Pair) Result(value []byte) []byte {
	if p == nil {
		return value
	}
	return p.output.back.apply(value)
}

// Chunks reports whether chunks are spelled in another way. Then a result that is made of them is in the capability's words already.
func (p *Pair) Chunks() bool { return p != nil && p.chunk != nil }

// Chunk is a piece of an agent's result in the capability's words.
func (p *Pair) Chunk(value []byte) []byte {
	if !p.Chunks() {
		return value
	}
	return p.chunk.back.apply(value)
}

// AgentResult is a result in the agent's words again: what its own schema speaks of.
func (p *Pair) AgentResult(value []byte) []byte {
	if p == nil {
		return value
	}
	return p.output.there.apply(value)
}

// spellings are both directions of the spellings of one schema.
type spellings struct{ there, back *node }

// node is what becomes of one value: its members by their names on the side that it comes from, its elements, and itself.
type node struct {
	members  map[string]member
	elements *node
	value    func(raw []byte) ([]byte, bool) // false: as it is
}

type member struct {
	name string // on the other side
	node *node  // nil: what is within stays as it is
}

func compile(all []schemas.Spelling) *spellings {
	root := new(place)
	for i := range all {
		root.find(all[i].At).spelling = &all[i]
	}
	return &spellings{there: root.project(true), back: root.project(false)}
}

// place is one value in the capability's terms.
type place struct {
	spelling *schemas.Spelling // nil: spelled alike
	within   map[string]*place // by name; each for the elements of a list
}

func (p *place) find(pointer string) *place {
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		if p.within == nil {
			p.within = make(map[string]*place)
		}
		next := p.within[unescape(step)]
		if next == nil {
			next = new(place)
			p.within[unescape(step)] = next
		}
		p = next
	}
	return p
}

// project is one direction: to the agent, or back. Names are exchanged, not only replaced: a member that has the other side's name
// already takes the one that becomes free.
func (p *place) project(there bool) *node {
	n := &node{members: make(map[string]member), value: valueOf(p.spelling, there)}
	for name, inner := range p.within {
		if name == each {
			n.elements = inner.project(there)
			continue
		}
		ours, theirs := name, nameOf(inner.spelling, name)
		if !there {
			ours, theirs = theirs, ours
		}
		if ours != theirs {
			n.members[theirs] = member{name: ours}
		}
		n.members[ours] = member{name: theirs, node: inner.project(there)}
	}
	return n
}
