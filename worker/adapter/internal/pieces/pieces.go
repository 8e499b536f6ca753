// Package pieces puts together what goes out to an agent for a task without copying the payload into it: a large one is held once.
package pieces

import (
	"bytes"
	"io"
	"slices"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// Payload is that of a task; an absent one is the empty object.
func Payload(task *worker.Task) schemas.Payload {
	if task.Message.Payload == nil {
		return schemas.Payload("{}")
	}
	return task.Message.Payload
}

// Message is one message, in the order of its pieces. They do not change while it is used.
type Message [][]byte

// Of is a message of one piece.
func Of(whole []byte) Message { return Message{whole} }

// With is v, which encodes as an object without this member, as JSON; value, which is JSON, is its last member.
func With(v any, member string, value []byte) (Message, error) {
	object, err := schemas.Encode(v)
	if err != nil {
		return nil, err
	}
	head := object[:len(object)-1]
	if len(head) > 1 {
		head = append(head, ',')
	}
	head = append(append(append(head, '"'), member...), `":`...)
	return Message{head, value, []byte("}")}, nil
}

// Len is how many bytes it has.
func (m Message) Len() int {
	size := 0
	for _, piece := range m {
		size += len(piece)
	}
	return size
}

// Whole is all of it, for what is not large.
func (m Message) Whole() []byte { return slices.Concat(m...) }

// small is how many bytes are copied together rather than sent by themselves.
const small = 64 << 10

// Reader reads it from its start. One that lies in one piece is given as what net/http knows to be in memory: it then goes out together with
// the header.
func (m Message) Reader() io.Reader {
	switch {
	case len(m) == 1:
		return bytes.NewReader(m[0])
	case m.Len() <= small:
		return bytes.NewReader(m.Whole())
	}
	readers := make([]io.Reader, len(m))
	for i, piece := range m {
		readers[i] = bytes.NewReader(piece)
	}
	return io.MultiReader(readers...)
}

// Cut gives it in parts of at most so many bytes, until do fails.
func (m Message) Cut(most int, do func(part []byte) error) error {
	for _, piece := range m {
		for part := range slices.Chunk(piece, most) {
			if err := do(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteLine writes JSON as one line: newlines, which stand between tokens alone, become blanks. A small one is written at once. n is how
// many bytes were written.
func (m Message) WriteLine(to io.Writer) (n int, err error) {
	if m.Len() < small {
		return to.Write(append(flat(m.Whole()), '\n'))
	}
	var scratch []byte
	write := func(part []byte) error {
		if bytes.ContainsAny(part, "\r\n") {
			scratch = append(scratch[:0], part...)
			part = flat(scratch)
		}
		wrote, err := to.Write(part)
		n += wrote
		return err
	}
	if err := m.Cut(small, write); err != nil {
		return n, err
	}
	wrote, err := to.Write([]byte{'\n'})
	return n + wrote, err
}

// flat is text, with blanks for its newlines.
func flat(text []byte) []byte {
	for i, c := range text {
		if c == '\r' || c == '\n' {
			text[i] = ' '
		}
	}
	return text
}
