// Package eventstream takes apart what an agent streams: lines, and server-sent events made of lines. It reads no further than it
// is asked to, so that an agent waits while nobody wants more, and keeps no more of one line or event than it was told.
package eventstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/agentreach/agent-reach/worker/adapter/internal/gather"
)

// ErrTooLong ends a stream with a line or an event beyond the limit.
var ErrTooLong = errors.New("a line is too long")

// Lines reads a stream line by line. A line ends with LF, CR LF or CR; the last one counts without an end, too.
type Lines struct {
	from    *bufio.Reader
	max     int
	afterCR bool // the line before ended with CR: an LF that follows is part of its end
	begun   bool
}

// NewLines reads lines of at most max bytes.
func NewLines(from io.Reader, max int) *Lines {
	return &Lines{from: bufio.NewReaderSize(from, 32<<10), max: max}
}

var byteOrderMark = []byte("\uFEFF")

// Next is the next line without its end, and the caller's to keep. A byte order mark before the first one is dropped. The error
// is ErrTooLong, or that of the reader.
func (l *Lines) Next() ([]byte, error) {
	line, err := l.next()
	if err == nil && !l.begun {
		l.begun = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return line, err
}

func (l *Lines) next() ([]byte, error) {
	var line gather.Bytes
	defer line.Drop()
	for {
		piece, err := l.piece()
		if err != nil {
			return l.last(&line, err)
		}
		at := bytes.IndexAny(piece, "\r\n")
		if at < 0 {
			at = len(piece)
		}
		if line.Len()+at > l.max {
			return nil, ErrTooLong
		}
		if _, err := line.Write(piece[:at]); err != nil {
			return nil, err
		}
		if at == len(piece) {
			l.drop(at)
			continue
		}
		l.afterCR = piece[at] == '\r'
		l.drop(at + 1)
		return line.Take()
	}
}

// piece is what is there of the stream, at least one byte. It is to be dropped after use.
func (l *Lines) piece() ([]byte, error) {
	if _, err := l.from.Peek(1); err != nil {
		return nil, err
	}
	piece, err := l.from.Peek(l.from.Buffered())
	if err == nil && l.afterCR {
		l.afterCR = false
		if piece[0] == '\n' {
			l.drop(1)
			return l.piece()
		}
	}
	return piece, err
}

func (l *Lines) drop(n int) { _, _ = l.from.Discard(n) }

// last is a line that has no end, at the end of the stream.
func (l *Lines) last(line *gather.Bytes, err error) ([]byte, error) {
	if errors.Is(err, io.EOF) && line.Len() > 0 {
		return line.Take()
	}
	return nil, err
}
