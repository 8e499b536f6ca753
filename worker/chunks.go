package worker

import (
	"bytes"

	"github.com/agentreach/agent-reach/schemas"
)

// chunks collects what an agent emits, for the result that they make when it gives none of its own: null of none, one string of
// strings, else a list. What goes beyond the limit is counted and not kept. A value without a lock.
type chunks struct {
	limit int
	kept  [][]byte
	count int
	bytes int   // of all, the kept and the others
	mixed bool  // not all are strings
	bad   error // the first chunk that was no JSON value
}

func (c *chunks) add(data schemas.Payload) {
	c.count++
	if c.bad == nil {
		c.bad = schemas.Scan(data)
	}
	if c.bad != nil {
		c.kept = nil
		return
	}
	chunk := bytes.TrimSpace(data)
	c.bytes += len(chunk)
	c.mixed = c.mixed || chunk[0] != '"'
	if c.size() > c.limit {
		c.kept = nil
		return
	}
	c.kept = append(c.kept, bytes.Clone(chunk))
}

// size is that of the result: a list has a comma or bracket beside each chunk, a string loses the quotes of each.
func (c *chunks) size() int {
	if c.mixed {
		return c.bytes + c.count + 1
	}
	return c.bytes - 2*c.count + 2
}

// join makes the result. Literals stay as they were written.
func (c *chunks) join() (schemas.Payload, error) {
	switch {
	case c.bad != nil:
		return nil, badJSON("a chunk", c.bad)
	case c.count == 0:
		return schemas.Payload("null"), nil
	case c.size() > c.limit:
		return nil, tooLarge(c.size(), c.limit)
	case c.mixed:
		return c.enclose('[', ",", ']'), nil
	}
	return c.enclose('"', "", '"'), nil
}

// enclose puts the chunks between two bytes; strings lose their own quotes to these.
func (c *chunks) enclose(before byte, between string, after byte) schemas.Payload {
	out := append(make([]byte, 0, c.size()), before)
	for i, chunk := range c.kept {
		if i > 0 {
			out = append(out, between...)
		}
		if before == '"' {
			chunk = chunk[1 : len(chunk)-1]
		}
		out = append(out, chunk...)
	}
	return append(out, after)
}
