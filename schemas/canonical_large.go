package schemas

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// WriteCanonical writes what Canonical gives, and never holds all of it. Of a long string all is held.
func WriteCanonical(to io.Writer, raw []byte) error {
	return (&canonicalWriter{to: to, piece: 1 << 20}).value(raw)
}

// canonicalWriter writes values of more than piece bytes element by element, small elements of a list several at once.
type canonicalWriter struct {
	to    io.Writer
	piece int
}

func (w *canonicalWriter) value(raw []byte) error {
	if len(raw) > w.piece {
		dec := jsontext.NewDecoder(bytes.NewBuffer(raw)) // which reads it where it lies
		switch dec.PeekKind() {
		case '[':
			return w.list(dec, raw)
		case '{':
			return w.object(dec, raw)
		}
	}
	form, err := Canonical(raw)
	if err != nil {
		return err
	}
	return w.write(string(form))
}

func (w *canonicalWriter) write(text string) error {
	if _, err := io.WriteString(w.to, text); err != nil {
		return fmt.Errorf("write canonical form: %w", err)
	}
	return nil
}

func (w *canonicalWriter) list(dec *jsontext.Decoder, raw []byte) error {
	if _, err := dec.ReadToken(); err != nil {
		return decodeError(err)
	}
	separator, start, end := "[", 0, 0 // start to end are elements that wait
	flush := func() error {
		if start == end {
			return nil
		}
		form, err := Canonical(slices.Concat([]byte("["), raw[start:end], []byte("]")))
		if err != nil {
			return err
		}
		err = w.write(separator + string(form[1:len(form)-1]))
		separator, start = ",", end
		return err
	}
	for dec.PeekKind() != ']' {
		element, err := dec.ReadValue()
		if err != nil {
			return decodeError(err)
		}
		large, at := len(element) > w.piece, int(dec.InputOffset())
		if large || end-start > w.piece {
			err = flush()
		}
		switch {
		case err != nil:
		case large:
			if err = w.write(separator); err == nil {
				err = w.value(raw[at-len(element) : at])
			}
			separator = ","
		case start == end:
			start, end = at-len(element), at
		default:
			end = at
		}
		if err != nil {
			return err
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if separator == "[" {
		return w.write("[]")
	}
	return w.write("]")
}

// object writes the members in the order in which the canonical form has their names: that of an object of the same names.
func (w *canonicalWriter) object(dec *jsontext.Decoder, raw []byte) error {
	names, values, err := membersOf(dec, raw)
	if err != nil {
		return decodeError(err)
	}
	form, err := Canonical(names)
	if err != nil {
		return err
	}
	ordered := jsontext.NewDecoder(bytes.NewBuffer(form))
	_, _ = ordered.ReadToken() // the form is valid
	separator := "{"
	for ; ordered.PeekKind() == '"'; separator = "," {
		name, _ := ordered.ReadValue()
		if err := w.write(separator + string(name) + ":"); err != nil {
			return err
		}
		place, _ := ordered.ReadValue()
		i, _ := strconv.Atoi(string(place))
		if err := w.value(values[i]); err != nil {
			return err
		}
	}
	if separator == "{" {
		return w.write("{}")
	}
	return w.write("}")
}

// membersOf are the values of an object, and an object of the same names that has their places.
func membersOf(dec *jsontext.Decoder, raw []byte) (names []byte, values [][]byte, err error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, err
	}
	names = append(names, '{')
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		if len(values) > 0 {
			names = append(names, ',')
		}
		names = strconv.AppendInt(append(append(names, name...), ':'), int64(len(values)), 10)
		value, err := dec.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		end := dec.InputOffset()
		values = append(values, raw[end-int64(len(value)):end])
	}
	return append(names, '}'), values, nil
}
