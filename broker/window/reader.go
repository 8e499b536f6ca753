package window

import (
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// reader is what a Sender knows of one reader.
type reader struct {
	name   string
	window Window
	heard  time.Time       // when it last gave credit
	full   time.Time       // since when its window is full and it takes nothing; zero while it is not
	mark   mark            // since when its rate is measured
	told   bool            // that a new attempt has begun
	over   *schemas.Notice // why it gets no more chunks; nil if it does
}

// reading reports whether it gets chunks.
func (r *reader) reading() bool { return r.over == nil }

// end says to the reader that it gets no more chunks.
func (r *reader) end(why schemas.Notice) Send {
	r.over = &why
	return Send{Reader: r.name, Notice: r.over}
}

// readers are those of one stream, in the order in which they came.
type readers []*reader

func (all readers) find(name string) *reader {
	for _, r := range all {
		if r.name == name {
			return r
		}
	}
	return nil
}

// reading are those that get chunks.
func (all readers) reading() readers {
	var some readers
	for _, r := range all {
		if r.reading() {
			some = append(some, r)
		}
	}
	return some
}
