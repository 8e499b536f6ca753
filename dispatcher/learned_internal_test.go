package dispatcher

import (
	"fmt"
	"testing"
)

func TestOfWordsThatWereDeletedOnlyTheLastAreRemembered(t *testing.T) {
	t.Parallel()
	l := newLearned()
	steps := []struct {
		name     string
		word     string
		revision uint64
		deleted  bool
		news     bool
	}{
		{"a word", "greet", 1, false, true},
		{"the same again", "greet", 1, false, true},
		{"a later one", "greet", 3, false, true},
		{"told late", "greet", 2, false, false},
		{"deleted", "greet", 4, true, true},
		{"told when it is deleted", "greet", 3, false, false},
		{"there again", "greet", 5, false, true},
	}
	for _, step := range steps {
		if got := l.note(step.word, step.revision, step.deleted); got != step.news {
			t.Errorf("%s: it is news %v", step.name, got)
		}
	}
	const many = 3 * maxDeleted
	for n := range uint64(many) {
		word := fmt.Sprint("word_", n)
		l.note(word, 10+2*n, false)
		l.note(word, 11+2*n, true)
	}
	if len(l.words) != maxDeleted+1 || len(l.deleted) != maxDeleted {
		t.Errorf("%d words are remembered, and %d that were deleted; want %d, and the one there is", len(l.words), len(l.deleted), maxDeleted)
	}
	if l.note("greet", 4, false) {
		t.Error("what is known of the word there is has gone with the others")
	}
	if l.note(fmt.Sprint("word_", many-1), 10+2*(many-1), false) {
		t.Error("what was deleted last comes back")
	}
}
