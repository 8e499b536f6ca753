package schemas

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reader reads JSON as a pen writes it: by the layout of its type, the members in their order, with no blanks between them. Whatever else
// it finds is for the general decoder: then all of the message is.
type reader struct {
	data  []byte
	at    int
	lost  bool
	lends bool // raw values are parts of data, as they are; else they are checked, and copied
}

// decodeQuickly reports whether it has read v, a pointer. Where it has not, v is as it was, and the general decoder has to look.
func decodeQuickly(data []byte, v any) bool {
	l := layouts[reflect.TypeOf(v)]
	r := reader{data: data}
	return l != nil && r.read(l, v)
}

// lend is decodeQuickly for a message that was checked when it was written, and stays as it is for as long as v is held.
func (l *layout) lend(data []byte, v any) bool {
	r := reader{data: data, lends: true}
	return r.read(l, v)
}

func (r *reader) read(l *layout, v any) bool {
	into := reflect.ValueOf(v).Elem()
	if !into.IsValid() || !into.IsZero() {
		return false
	}
	r.object(l, into)
	if r.lost || r.at < len(r.data) {
		into.SetZero()
		return false
	}
	return true
}

// without is a layout of which the named members are passed over when they are read. It is not written by.
func (l *layout) without(names ...string) *layout {
	part := slices.Clone(*l)
	for i := range part {
		if slices.Contains(names, part[i].name) {
			part[i].kind = ofSkipped
		}
	}
	return &part
}

func (r *reader) object(l *layout, v reflect.Value) {
	r.token('{')
	r.members(l, v)
	r.token('}')
}

func (r *reader) members(l *layout, v reflect.Value) {
	for i := range *l {
		m := &(*l)[i]
		switch {
		case m.kind == ofUnknown:
		case m.kind == ofEmbedded:
			r.members(m.within, v.Field(m.index))
		case r.name(m.name):
			r.value(m, v.Field(m.index))
		}
	}
}

// name takes the name of a member, if it comes next.
func (r *reader) name(name string) bool {
	if r.lost {
		return false
	}
	at := r.at
	if r.data[at-1] != '{' {
		at++ // a comma
	}
	end := at + len(name) + len(`"":`)
	if end > len(r.data) || string(r.data[at+1:end-2]) != name || r.data[at] != '"' || r.data[end-2] != '"' || r.data[end-1] != ':' ||
		at > r.at && r.data[r.at] != ',' {
		return false
	}
	r.at = end
	return true
}

func (r *reader) value(m *member, field reflect.Value) {
	switch m.kind {
	case ofText:
		field.SetString(r.text())
	case ofFlag:
		field.SetBool(r.flag())
	case ofNumber, ofVersion:
		n := r.number()
		r.lost = r.lost || field.OverflowInt(n)
		field.SetInt(n)
	case ofSequence:
		field.SetUint(r.sequence())
	case ofMoment:
		*field.Addr().Interface().(*Time) = r.time()
	case ofRaw:
		field.SetBytes(r.raw())
	case ofTexts:
		*field.Addr().Interface().(*[]string) = r.texts()
	case ofObject:
		field.Set(reflect.New(field.Type().Elem()))
		r.object(m.within, field.Elem())
	case ofObjects:
		r.objects(m.within, field)
	case ofSkipped:
		r.skip()
	default:
		r.general(field.Addr().Interface())
	}
}

// token takes one character that has to come next.
func (r *reader) token(c byte) { r.lost = !r.is(c) }

// is takes a character, if it comes next.
func (r *reader) is(c byte) bool {
	if r.lost || r.at == len(r.data) || r.data[r.at] != c {
		return false
	}
	r.at++
	return true
}

func (r *reader) text() string { return string(r.plain()) }

// plain reads a string that stands for itself.
func (r *reader) plain() []byte {
	r.token('"')
	start := r.at
	for !r.lost && r.at < len(r.data) {
		c := r.data[r.at]
		if r.at++; c == '"' {
			return r.data[start : r.at-1]
		}
		r.lost = c < ' ' || c > '~' || c == '\\'
	}
	r.lost = true
	return nil
}

func (r *reader) texts() (texts []string) {
	r.each(func() { texts = append(texts, r.text()) })
	return texts
}

func (r *reader) objects(l *layout, all reflect.Value) {
	n := 0
	r.each(func() {
		all.Grow(1)
		all.SetLen(n + 1)
		all.Index(n).SetZero()
		r.object(l, all.Index(n))
		n++
	})
}

// each reads the elements of an array that has some.
func (r *reader) each(read func()) {
	r.token('[')
	for more := !r.lost; more; more = r.is(',') {
		read()
	}
	r.token(']')
}

func (r *reader) flag() bool {
	value := string(r.skip())
	r.lost = r.lost || value != "true" && value != "false"
	return value == "true"
}

func (r *reader) number() int64 {
	n, err := strconv.ParseInt(string(r.digits()), 10, 64)
	r.lost = r.lost || err != nil
	return n
}

func (r *reader) sequence() uint64 {
	n, err := strconv.ParseUint(string(r.digits()), 10, 64)
	r.lost = r.lost || err != nil
	return n
}

// digits is the next value, which is to be an integer.
func (r *reader) digits() []byte {
	value := r.skip()
	first := bytes.TrimPrefix(value, []byte("-"))
	r.lost = r.lost || len(first) == 0 || !isDigit(first[0]) || first[0] == '0' && len(value) > 1
	return value
}

func (r *reader) time() Time {
	t, fits := momentOf(r.plain())
	r.lost = r.lost || !fits
	return t
}

// raw is the next value, as it is.
func (r *reader) raw() []byte {
	value := r.skip()
	if r.lends {
		return slices.Clip(value)
	}
	r.lost = r.lost || !jsontext.Value(value).IsValid()
	return bytes.Clone(value)
}

func (r *reader) general(v any) {
	value := r.skip()
	r.lost = r.lost || json.Unmarshal(value, v) != nil
}

// skip passes over the next value, without a look at what is in it.
func (r *reader) skip() []byte {
	start, depth := r.at, 0
	for i := start; !r.lost && i < len(r.data); i++ {
		switch c := r.data[i]; c {
		case '"':
			i = closingQuote(r.data, i)
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				r.at = i
				r.lost = start == i || blank(r.data[start]) || blank(r.data[i-1])
				return r.data[start:i]
			}
			if c != ',' {
				depth--
			}
		}
	}
	r.lost = true
	return nil
}

func blank(c byte) bool { return c <= ' ' }
