package redact

import (
	"bytes"
	"fmt"
	"io"
)

// Writer masks each line of a log on its way to w. Whoever writes to it, writes whole lines: zerolog writes each event at once. It
// is as safe for several goroutines as w is.
func Writer(w io.Writer) io.Writer { return &writer{w} }

type writer struct{ to io.Writer }

func (w *writer) Write(p []byte) (int, error) {
	var masked bytes.Buffer
	masked.Grow(len(p))
	for line := range bytes.Lines(p) {
		text, end := bytes.CutSuffix(line, []byte("\n"))
		masked.WriteString(Mask(text))
		if end {
			masked.WriteByte('\n')
		}
	}
	if _, err := w.to.Write(masked.Bytes()); err != nil {
		return 0, fmt.Errorf("write log: %w", err)
	}
	return len(p), nil
}
