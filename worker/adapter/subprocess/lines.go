package subprocess

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lines reads a stream line by line, and keeps no more of one than max bytes.
type lines struct {
	from *bufio.Reader
	max  int
	open bool // the end of the line that next returned was not read yet
}

func newLines(from io.Reader, max int) *lines {
	return &lines{from: bufio.NewReaderSize(from, 64<<10), max: max}
}

// next is the next line, without its end; it is the caller's to keep. The last one counts without a newline, too. If it is longer
// than max, tooLong is true and the line is its beginning, a little more than max; what follows is left to rest, or to next.
func (l *lines) next() (line []byte, tooLong bool, err error) {
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

// rest passes over what is left of a line that was too long, and reports whether it ended within max bytes.
func (l *lines) rest() bool {
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
