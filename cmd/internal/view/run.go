package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Run is a result that is shown piece by piece: strings run on, all other values have a line each.
type Run struct {
	out      io.Writer
	terminal bool // what a terminal would act on is escaped
	open     bool // the last line has not ended
	pieces   [][]byte
	mixed    bool // not all are strings
}

// NewRun shows pieces on out.
func NewRun(out io.Writer, terminal bool) *Run { return &Run{out: out, terminal: terminal} }

// Empty reports whether nothing was shown of this attempt.
func (r *Run) Empty() bool { return len(r.pieces) == 0 }

// Chunk shows one piece.
func (r *Run) Chunk(chunk *schemas.Chunk) {
	piece := bytes.TrimSpace(chunk.Data)
	r.pieces = append(r.pieces, piece)
	var text string
	if schemas.Decode(piece, &text) != nil {
		r.mixed = true
		r.Break()
		text = Line(chunk.Data) + "\n"
	}
	if r.terminal {
		text = prose(text)
	}
	if text != "" {
		_, _ = io.WriteString(r.out, text)
		r.open = !strings.HasSuffix(text, "\n")
	}
}

// prose is Text that keeps its lines.
func prose(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Text(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Break ends a line that has not ended.
func (r *Run) Break() {
	if r.open {
		_, _ = fmt.Fprintln(r.out)
		r.open = false
	}
}

// Restart forgets what was shown: another attempt begins.
func (r *Run) Restart() { r.pieces, r.mixed = nil, false }

// Makes reports whether the pieces together are that result: it need not be shown again.
func (r *Run) Makes(result schemas.Payload) bool {
	whole := []byte(Line(result))
	switch {
	case r.Empty():
		return false
	case len(r.pieces) == 1 && bytes.Equal([]byte(Line(r.pieces[0])), whole):
		return true
	case r.mixed:
		return bytes.Equal([]byte(Line(enclose('[', r.pieces, ",", ']'))), whole)
	}
	inner := make([][]byte, len(r.pieces))
	for i, piece := range r.pieces {
		inner[i] = piece[1 : len(piece)-1]
	}
	return bytes.Equal(enclose('"', inner, "", '"'), whole)
}

func enclose(before byte, pieces [][]byte, between string, after byte) []byte {
	return append(append([]byte{before}, bytes.Join(pieces, []byte(between))...), after)
}
