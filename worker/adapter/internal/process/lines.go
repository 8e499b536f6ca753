package process

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/agentreach/agent-reach/worker/adapter/internal/gather"
)

// Lines reads a stream line by line, and keeps no more of one than max bytes.
type Lines struct {
	from *bufio.Reader
	max  int
	open bool // the end of the line that Next returned was not read yet
}

// NewLines reads lines of at most max bytes.
func NewLines(from io.Reader, max int) *Lines {
	return &Lines{from: bufio.NewReaderSize(from, 64<<10), max: max}
}

// mostOfEnd is how many bytes the end of a line may have more than a line: carriage returns, of which there are several now and then.
const mostOfEnd = 64 << 10

// Next is the next line, without its end; it is the caller's to keep. The last one counts without a newline, too. If it is longer
// than max, tooLong is true and the line is its beginning; what follows is left to Rest, or to Next.
func (l *Lines) Next() (line []byte, tooLong bool, err error) {
	var all gather.Bytes
	defer all.Drop()
	end := 0 // bytes of the end of a line that came last
	for {
		piece, err := l.from.ReadSlice('\n')
		if _, problem := all.Write(piece); problem != nil {
			return nil, false, problem
		}
		l.open = errors.Is(err, bufio.ErrBufferFull)
		if text := len(bytes.TrimRight(piece, "\r\n")); text > 0 {
			end = 0
			piece = piece[text:]
		}
		end += len(piece)
		switch {
		case all.Len()-end > l.max, end > l.max+mostOfEnd:
			return bytes.Clone(all.Beginning()), true, nil
		case l.open:
		case err != nil && all.Len() == 0:
			return nil, false, err
		default:
			line, err := all.Take()
			return line[:max(len(line)-end, 0)], false, err
		}
	}
}

// Rest passes over what is left of a line that was too long, and reports whether it ended within max bytes.
func (l *Lines) Rest() bool {
	for passed := 0; l.open; {
		piece, err := l.from.ReadSlice('\n')
		passed += len(piece)
		l.open = errors.Is(err, bufio.ErrBufferFull)
		if passed > l.max {
			return false
		}
	}
	return true
}

// Discard passes over all that still comes.
func (l *Lines) Discard() { _, _ = io.Copy(io.Discard, l.from) }
