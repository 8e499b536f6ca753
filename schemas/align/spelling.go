package align

import "github.com/agentreach/agent-reach/schemas"

// nameOf is what the agent calls a member.
func nameOf(s *schemas.Spelling, name string) string {
	if s == nil || s.Name == "" {
		return name
	}
	return s.Name
}

// valueOf is what becomes of a value itself on its way there or back; nil if nothing does.
func valueOf(s *schemas.Spelling, there bool) func([]byte) ([]byte, bool) {
	switch {
	case s == nil:
		return nil
	case s.TimeTo != "" && there:
		return func(raw []byte) ([]byte, bool) { return convert(s.TimeFrom, s.TimeTo, raw) }
	case s.TimeTo != "":
		return func(raw []byte) ([]byte, bool) { return convert(s.TimeTo, s.TimeFrom, raw) }
	case len(s.Enum) > 0:
		return exchange(s.Enum)
	}
	return nil
}

// exchange replaces each word by its counterpart, in either direction.
func exchange(words map[string]string) func([]byte) ([]byte, bool) {
	other := make(map[string][]byte, 2*len(words))
	for ours, theirs := range words {
		other[ours], other[theirs] = schemas.MustEncode(theirs), schemas.MustEncode(ours)
	}
	return func(raw []byte) ([]byte, bool) {
		word, ok := unquote(raw)
		with, known := other[word]
		return with, ok && known
	}
}
