package front

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Claimed is the answer to a claim. Large are payloads that belong to it and are not in their messages, by the place of their assignment:
// they are read as the answer is written.
type Claimed struct {
	schemas.Claimed
	Large map[int]Open
}

// Open opens a body, whatever its size; whoever gets it closes it. ctx is that of all its reads.
type Open func(ctx context.Context) (io.ReadSeekCloser, error)

// Write writes the answer as one JSON object.
func (c *Claimed) Write(ctx context.Context, w io.Writer) error {
	bare := c.Claimed
	bare.Assignments = []schemas.ClaimedTask{}
	body, err := schemas.Encode(&bare)
	if err != nil {
		return err
	}
	head, tail, _ := bytes.Cut(body, []byte("[]"))
	between := string(head) + "["
	for i := range c.Assignments {
		if _, err := io.WriteString(w, between); err != nil {
			return err
		}
		if err := c.writeTask(ctx, w, i); err != nil {
			return err
		}
		between = ","
	}
	if len(c.Assignments) > 0 {
		between = ""
	}
	_, err = io.WriteString(w, between+"]"+string(tail))
	return err
}

// writeTask writes one assignment: the message is its last member, and a large payload the last of that.
func (c *Claimed) writeTask(ctx context.Context, w io.Writer, i int) error {
	one, err := schemas.Encode(&c.Assignments[i])
	if err != nil {
		return err
	}
	open := c.Large[i]
	if open == nil {
		_, err = w.Write(one)
		return err
	}
	payload, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = payload.Close() }()
	_, err = io.Copy(w, io.MultiReader(
		bytes.NewReader(one[:len(one)-2]), strings.NewReader(`,"payload":`), payload, strings.NewReader("}}"),
	))
	return err
}
