package view

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// aligned is where an agent spells its capabilities in another way, a place a line.
func aligned(r *schemas.Registration) string {
	var lines []string
	all := r.Alignments()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		for _, part := range []struct {
			name      string
			spellings []schemas.Spelling
		}{{"input", all[id].Input}, {"output", all[id].Output}, {"chunk", all[id].Chunk}} {
			for _, s := range part.spellings {
				lines = append(lines, id+" "+part.name+" "+spelled(&s))
			}
		}
	}
	return Lines(strings.Join(lines, "\n"), strings.Repeat(" ", labelWidth))
}

// spelled is one place, and what the agent has there: /max_sentences: maxSentences.
func spelled(s *schemas.Spelling) string {
	var how []string
	if s.Name != "" {
		how = append(how, s.Name)
	}
	if s.TimeTo != "" {
		how = append(how, string(s.TimeFrom)+" as "+string(s.TimeTo))
	}
	for _, word := range slices.Sorted(maps.Keys(s.Enum)) {
		how = append(how, word+" as "+s.Enum[word])
	}
	return s.At + ": " + strings.Join(how, ", ")
}
