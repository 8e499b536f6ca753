package process

import (
	"bufio"
	"bytes"
	"errors"
	"io"
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

// Next is the next line, without its end; it is the caller's to keep. The last one counts without a newline, too. If it is longer
// than max, tooLong is true and the line is its beginning, a little more than max; what follows is left to Rest, or to Next.
func (l *Lines) Next() (line []byte, tooLong bool, err error) {
	for {
		piece, err := l.from.ReadSlice('\n')
		line = append(line, piece...)
		l.open = errors.Is(err, bufio.ErrBufferFull)
		if len(bytes.TrimRight(line, "\r\n")) > l.max {
			return line, true, nil
		}
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), false, nil
		case l.open:
		case len(line) > 0:
			return bytes.TrimRight(line, "\r\n"), false, nil
		default:
			return nil, false, err
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
