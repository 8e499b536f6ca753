package view

import (
	"io"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Capabilities is the dictionary as a list.
func Capabilities(w io.Writer, capabilities []schemas.Capability) {
	var items [][]string
	for i := range capabilities {
		c := &capabilities[i]
		items = append(items, []string{c.ID, yes(c.Idempotent), or(hint(c)), or(Text(c.Description))})
	}
	Rows(w, []string{"CAPABILITY", "IDEMPOTENT", "HINT", "DESCRIPTION"}, items)
}

// Capability is one entry of the dictionary.
func Capability(w io.Writer, c *schemas.Capability) {
	fields(w,
		field{"CAPABILITY", c.ID},
		field{"ABOUT", Text(c.Description)},
		field{"ALIASES", Text(strings.Join(c.Aliases, ", "))},
		field{"TAGS", Text(strings.Join(c.Tags, ", "))},
		field{"IDEMPOTENT", yes(c.Idempotent)},
		field{"HINT", hint(c)},
		field{"INPUT", raw(c.InputSchema)},
		field{"OUTPUT", raw(c.OutputSchema)},
		field{"CHUNK", raw(c.ChunkSchema)},
		field{"PROBE", raw([]byte(c.Probe))},
	)
}

func hint(c *schemas.Capability) string {
	if c.TimeoutHintMS == 0 {
		return ""
	}
	return span(schemas.Duration(c.TimeoutHintMS))
}

// raw is a raw JSON value on one line; nothing where there is none.
func raw(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	return Text(Line(value))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
