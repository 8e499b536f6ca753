// Package view turns what the house answers into text for people. Everything in it is a function from values to text. Text that
// came from elsewhere, an agent's message or a result, is shown without what could move the cursor, colour the screen or turn the
// reading direction.
package view

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

// Text is s with everything that does not print as a \u escape. Within JSON that means the same.
func Text(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			escape(&b, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Lines is Text of several lines, all but the first indented, so that none can pass for a line of ours.
func Lines(s, indent string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n"+indent)
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func escape(b *strings.Builder, r rune) {
	for _, unit := range utf16.Encode([]rune{r}) {
		fmt.Fprintf(b, `\u%04x`, unit)
	}
}

// Line is a JSON value on one line, every literal as it was written.
func Line(value schemas.Payload) string {
	raw := jsontext.Value(value).Clone()
	if err := raw.Compact(); err != nil {
		return "null"
	}
	return string(raw)
}

// field is a row of a thing that is shown alone.
type field struct{ label, value string }

// labelWidth is that of the labels of fields.
const labelWidth = 13

// fields writes the rows that have a value.
func fields(w io.Writer, rows ...field) {
	table := tabwriter.NewWriter(w, labelWidth, 0, 3, ' ', 0)
	for _, row := range rows {
		if row.value != "" {
			_, _ = fmt.Fprintf(table, "%s\t%s\n", row.label, row.value)
		}
	}
	_ = table.Flush()
}

// Rows writes a table; a list without items is its header alone.
func Rows(w io.Writer, header []string, items [][]string) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, item := range append([][]string{header}, items...) {
		_, _ = fmt.Fprintln(table, strings.Join(item, "\t"))
	}
	_ = table.Flush()
	for line := range strings.Lines(text.String()) {
		_, _ = fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// Count is a number of things; of one thing, one.
func Count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// or is text, or a dash where there is none.
func or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// span is a duration as people write it.
func span(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}
