package dispatcher

// maxDeleted bounds the words that were deleted and whose revisions are remembered all the same.
const maxDeleted = 256

// learned is the revision that was last learned of each word of the dictionary, and of those that were deleted last: whoever has stored a
// word may tell of it when the watch has brought its end. A value without a lock.
type learned struct {
	words   map[string]lesson
	deleted []string // the oldest first
}

// lesson is what was learned last of a word.
type lesson struct {
	revision uint64
	deleted  bool
}

func newLearned() learned { return learned{words: make(map[string]lesson)} }

// note takes a change in, and reports whether it is none that is older than what is known.
func (l *learned) note(word string, revision uint64, deleted bool) bool {
	if revision < l.words[word].revision {
		return false
	}
	l.words[word] = lesson{revision, deleted}
	if deleted {
		l.deleted = append(l.deleted, word)
	}
	if len(l.deleted) > maxDeleted {
		if l.words[l.deleted[0]].deleted {
			delete(l.words, l.deleted[0])
		}
		l.deleted = l.deleted[1:]
	}
	return true
}
