package worker

import (
	"bufio"
	"bytes"
	"io"

	"github.com/agentreach/agent-reach/schemas"
)

// keptInMemory is how many bytes of chunks are kept in memory, sliceBytes beside each counted in; more go into a file.
const (
	keptInMemory = 1 << 20
	sliceBytes   = 32
)

// chunks collects what an agent emits, for the result that they make when it gives none of its own: null of none, one string of
// strings, else a list. What goes beyond the limit is counted and not kept. A value without a lock.
type chunks struct {
	limit int
	kept  [][]byte
	spool *spool // has all of them, once they are too many to be kept in memory
	count int
	bytes int   // of all, the kept and the others
	mixed bool  // not all are strings
	bad   error // the first chunk that was no JSON value, or why they could not be kept
}

// add takes a chunk; one that is known to be valid is not looked at again.
func (c *chunks) add(data schemas.Payload, valid bool) {
	c.count++
	if c.bad == nil && !valid {
		if err := schemas.Scan(data); err != nil {
			c.bad = badJSON("a chunk", err)
		}
	}
	if c.bad != nil {
		c.drop()
		return
	}
	chunk := bytes.TrimSpace(data)
	c.bytes += len(chunk)
	c.mixed = c.mixed || chunk[0] != '"'
	if c.size() > c.limit {
		c.drop()
		return
	}
	if c.keep(chunk) != nil {
		c.bad = &Failure{Err: internal("NO_ROOM", "the worker has no room for what the agent has said: give it space for temporary files"), Ran: schemas.RanYes}
		c.drop()
	}
}

func (c *chunks) keep(chunk []byte) error {
	switch {
	case c.spool != nil:
		return c.spool.add(chunk)
	case c.bytes+sliceBytes*c.count <= keptInMemory:
		c.kept = append(c.kept, bytes.Clone(chunk))
		return nil
	}
	spool, err := newSpool()
	if err != nil {
		return err
	}
	for _, one := range c.kept {
		_ = spool.add(one) // the last one has its error
	}
	c.kept, c.spool = nil, spool
	return spool.add(chunk)
}

// drop forgets what is kept.
func (c *chunks) drop() {
	c.spool.close()
	c.kept, c.spool = nil, nil
}

// size is that of the result: a list has a comma or bracket beside each chunk, a string loses the quotes of each.
func (c *chunks) size() int {
	if c.mixed {
		return c.bytes + c.count + 1
	}
	return c.bytes - 2*c.count + 2
}

// join makes the result; where it is not held in memory, large writes it, as long as the chunks are not dropped. Literals stay as they
// were written.
func (c *chunks) join() (result schemas.Payload, large *spooled, err error) {
	switch {
	case c.bad != nil:
		return nil, nil, c.bad
	case c.count == 0:
		return schemas.Payload("null"), nil, nil
	case c.size() > c.limit:
		return nil, nil, tooLarge(c.size(), c.limit)
	case c.spool != nil:
		return nil, &spooled{size: int64(c.size()), write: c.writeTo}, nil
	}
	var out bytes.Buffer
	out.Grow(c.size())
	if err := c.writeTo(&out); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), nil, nil
}

// writeTo writes the result.
func (c *chunks) writeTo(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	before, after := byte('"'), byte('"')
	if c.mixed {
		before, after = '[', ']'
	}
	_ = out.WriteByte(before)
	first := true
	err := c.each(func(chunk []byte) error {
		if c.mixed && !first {
			_ = out.WriteByte(',')
		}
		if first = false; !c.mixed { // its own quotes are lost to those of the whole
			chunk = chunk[1 : len(chunk)-1]
		}
		_, err := out.Write(chunk)
		return err
	})
	if err != nil {
		return err
	}
	_ = out.WriteByte(after)
	return out.Flush()
}

func (c *chunks) each(fn func(chunk []byte) error) error {
	if c.spool != nil {
		return c.spool.each(fn)
	}
	for _, chunk := range c.kept {
		if err := fn(chunk); err != nil {
			return err
		}
	}
	return nil
}
