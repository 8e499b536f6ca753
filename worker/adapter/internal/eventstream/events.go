package eventstream

import (
	"bytes"
	"errors"
	"io"
)

// Event is one server-sent event. Name is "" for one that has none.
type Event struct {
	Name string
	Data []byte
}

// Events reads a stream of server-sent events.
type Events struct {
	lines *Lines
	max   int
}

// NewEvents reads events of at most max bytes of data.
func NewEvents(from io.Reader, max int) *Events {
	const room = 64 // for the name of a field
	return &Events{lines: NewLines(from, max+room), max: max}
}

// Next is the next event that has data; comments, ids and retry times are passed over. An event at the very end counts without
// the blank line that should follow it. The error is ErrTooLong, or that of the reader.
func (e *Events) Next() (Event, error) {
	var event Event
	var data bool
	for {
		line, err := e.lines.Next()
		switch {
		case err != nil && errors.Is(err, io.EOF) && data:
			return event, nil
		case err != nil:
			return Event{}, err
		case len(line) == 0 && data:
			return event, nil
		case len(line) == 0:
			event = Event{}
			continue
		}
		name, value := field(line)
		switch name {
		case "event":
			event.Name = string(value)
		case "data":
			if len(event.Data)+len(value) > e.max {
				return Event{}, ErrTooLong
			}
			if data {
				value = append(append(event.Data, '\n'), value...)
			}
			event.Data, data = value, true
		}
	}
}

// field is the name and the value of a line; a comment has no name.
func field(line []byte) (string, []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	return string(name), bytes.TrimPrefix(value, []byte(" "))
}
