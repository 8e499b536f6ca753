package align

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Bounds of what Derive finds; what lies deeper, or comes later, is not translated.
const (
	MaxSpellings = 256
	maxDepth     = 16
	maxLooks     = 4096 // at pairs of schemas: what refers to itself goes on for ever
)

// each stands in a place for every element of a list.
const each = "*"

// Derive finds where an agent's schema spells what a capability's means in another way. Both are JSON Schemas that compile; an
// absent one says nothing. The places are in the capability's terms, in the order of their names.
func Derive(capability, agent []byte) []schemas.Spelling {
	if len(capability) == 0 || len(agent) == 0 {
		return nil
	}
	d := &derivation{}
	d.compare("", "", document(capability), document(agent))
	return d.found
}

func document(raw []byte) shape {
	var root any
	_ = schemas.Decode(raw, &root) // what is no object says nothing of members
	return shape{root: root, node: root}.meant()
}

type derivation struct {
	found []schemas.Spelling
	looks int
}

// compare notes how the agent spells the value at a place, and what is within it. called is the agent's name of the member, if
// that differs.
func (d *derivation) compare(place, called string, capability, agent shape) {
	if d.looks++; d.looks > maxLooks || len(d.found) == MaxSpellings || strings.Count(place, "/") > maxDepth {
		return
	}
	spelling := schemas.Spelling{At: place, Name: called, Enum: constants(capability, agent)}
	spelling.TimeFrom, spelling.TimeTo = forms(place, capability, agent)
	if spelling.Name != "" || spelling.TimeTo != "" || spelling.Enum != nil {
		d.found = append(d.found, spelling)
	}
	ours, theirs := capability.members(), agent.members()
	names := pairs(slices.Collect(maps.Keys(ours)), slices.Collect(maps.Keys(theirs)))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		other := names[name]
		called := other
		if other == name {
			called = ""
		}
		if name != each {
			d.compare(place+"/"+escape(name), called, ours[name], theirs[other])
		}
	}
	element, found := capability.elements()
	if other, too := agent.elements(); found && too {
		d.compare(place+"/"+each, "", element, other)
	}
}

// pairs goes from the words of one side to those of the other that mean the same: itself where both have it, else the only one that
// differs in nothing but case and separators. Words without a counterpart are left out.
func pairs(ours, theirs []string) map[string]string {
	known := func(word string) bool { return slices.Contains(theirs, word) }
	same := make(map[string]string)
	for _, word := range ours {
		if known(word) {
			same[word] = word
		}
	}
	left := byFold(ours, same)
	right := byFold(theirs, same)
	for fold, words := range left {
		if others := right[fold]; len(words) == 1 && len(others) == 1 {
			same[words[0]] = others[0]
		}
	}
	return same
}

// byFold groups the words that are not known.
func byFold(words []string, known map[string]string) map[string][]string {
	groups := make(map[string][]string)
	for _, word := range words {
		if _, found := known[word]; !found {
			groups[fold(word)] = append(groups[fold(word)], word)
		}
	}
	return groups
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// fold is what snake_case, camelCase and kebab-case of one word have in common.
func fold(word string) string { return separators.Replace(strings.ToLower(word)) }

// constants goes from the capability's constants to the agent's, where these are written in another way; nil if none is.
func constants(capability, agent shape) map[string]string {
	var differ map[string]string
	for ours, theirs := range pairs(capability.constants(), agent.constants()) {
		if ours != theirs {
			if differ == nil {
				differ = make(map[string]string)
			}
			differ[ours] = theirs
		}
	}
	return differ
}

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escape(name string) string { return escaper.Replace(name) }

func unescape(step string) string { return unescaper.Replace(step) }
