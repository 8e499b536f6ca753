package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Callbacks is a list of tasks by how their callbacks stand.
func Callbacks(w io.Writer, tasks []schemas.Task) {
	var items [][]string
	for i := range tasks {
		t := &tasks[i]
		c := t.Callback
		if c == nil {
			continue
		}
		items = append(items, []string{
			t.TaskID, string(t.State), string(c.State), fmt.Sprint(c.Attempts), or(c.NextAt.String()), or(lastCall(c)), Text(c.URL),
		})
	}
	Rows(w, []string{"TASK", "STATE", "CALLBACK", "ATTEMPTS", "NEXT", "LAST", "URL"}, items)
}

// lastCall is how the last attempt went.
func lastCall(c *schemas.Callback) string {
	switch {
	case c.Status > 0:
		return fmt.Sprint(c.Status)
	case c.Error != nil:
		return c.Error.Reason
	}
	return ""
}

// called is how a task's callback stands, in one line.
func called(t *schemas.Task) string {
	c := t.Callback
	if c == nil {
		return ""
	}
	parts := []string{string(c.State)}
	if c.Attempts > 0 {
		parts = append(parts, Count(int64(c.Attempts), "attempt"))
	}
	if last := lastCall(c); last != "" {
		parts = append(parts, "last "+last)
	}
	if !c.NextAt.IsZero() {
		parts = append(parts, "next "+c.NextAt.String())
	}
	return strings.Join(parts, ", ") + ": " + Text(c.URL)
}
