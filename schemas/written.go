package schemas

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// layouts are those of the messages that there are several of for each task: by their pointers they are written and read in a part of
// the time that the general encoder and decoder take, and are the same.
var layouts = func() map[reflect.Type]*layout {
	all := make(map[reflect.Type]*layout)
	for _, of := range []reflect.Type{
		reflect.TypeFor[ReachMessage](), reflect.TypeFor[Task](), reflect.TypeFor[Record](), reflect.TypeFor[Result](),
		reflect.TypeFor[Answer](),
	} {
		all[reflect.PointerTo(of)] = layoutOf(of)
	}
	return all
}()

// layout is how the values of a struct are written and read, member by member.
type layout []member

// member is one field of a struct.
type member struct {
	index  int
	name   string
	always bool // also where it has its zero value
	kind   memberKind
	within *layout // of an object, of each of several, or of an embedded struct
}

type memberKind int

const (
	ofGeneral  memberKind = iota // left to the general encoder
	ofText                       // a string
	ofFlag                       // a bool
	ofNumber                     // an int, of whatever size
	ofSequence                   // a uint64
	ofVersion                    // a Version
	ofMoment                     // a Time
	ofRaw                        // a value as it is written
	ofTexts                      // []string
	ofObject                     // a pointer to a struct
	ofObjects                    // a slice of structs
	ofEmbedded                   // a struct whose members are this one's
	ofUnknown                    // members that this version does not know
	ofSkipped                    // passed over by who reads it
)

// layoutOf reads the fields of a struct and their tags.
func layoutOf(of reflect.Type) *layout {
	l := make(layout, 0, of.NumField())
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		m := member{index: i, name: name, always: !strings.HasPrefix(options, "omit"), kind: kindOf(field.Type)}
		switch {
		case options == "embed":
			m.kind = ofUnknown
		case field.Anonymous:
			m.kind, m.within = ofEmbedded, layoutOf(field.Type)
		case m.kind == ofObject, m.kind == ofObjects:
			m.within = layoutOf(field.Type.Elem())
		}
		l = append(l, m)
	}
	return &l
}

func kindOf(of reflect.Type) memberKind {
	switch of {
	case reflect.TypeFor[Version]():
		return ofVersion
	case reflect.TypeFor[Time]():
		return ofMoment
	case reflect.TypeFor[Payload](), reflect.TypeFor[jsontext.Value]():
		return ofRaw
	case reflect.TypeFor[[]string]():
		return ofTexts
	case reflect.TypeFor[*Assignment]():
		return ofObject
	case reflect.TypeFor[[]Hop]():
		return ofObjects
	}
	switch of.Kind() {
	case reflect.String:
		return ofText
	case reflect.Bool:
		return ofFlag
	case reflect.Int, reflect.Int64:
		return ofNumber
	case reflect.Uint64:
		return ofSequence
	}
	return ofGeneral
}

// encodeQuickly is nil for what the general encoder has to look at.
func encodeQuickly(v any) []byte {
	l := layouts[reflect.TypeOf(v)]
	if l == nil || reflect.ValueOf(v).IsNil() {
		return nil
	}
	p := pen{out: make([]byte, 0, usualSize)}
	p.object(l, reflect.ValueOf(v).Elem())
	if p.lost {
		return nil
	}
	return p.out
}

// usualSize is that of a message with a small payload.
const usualSize = 1536

func (p *pen) object(l *layout, v reflect.Value) {
	p.out = append(p.out, '{')
	p.members(l, v)
	p.out = append(p.out, '}')
}

func (p *pen) members(l *layout, v reflect.Value) {
	for i := range *l {
		m := &(*l)[i]
		switch field := v.Field(m.index); {
		case m.kind == ofUnknown:
			p.lost = p.lost || field.Len() > 0
		case m.kind == ofEmbedded:
			p.members(m.within, field)
		case m.always || !absent(m.kind, field):
			p.name(m.name)
			p.value(m, field)
		}
	}
}

// absent reports whether a field holds what is not written.
func absent(kind memberKind, field reflect.Value) bool {
	switch kind {
	case ofTexts, ofObjects:
		return field.Len() == 0
	case ofMoment:
		return field.Addr().Interface().(*Time).IsZero()
	}
	return field.IsZero()
}

func (p *pen) value(m *member, field reflect.Value) {
	switch m.kind {
	case ofText:
		p.text(field.String())
	case ofFlag:
		p.flag(field.Bool())
	case ofNumber:
		p.number(field.Int())
	case ofVersion:
		p.number(max(field.Int(), int64(CurrentVersion)))
	case ofSequence:
		p.sequence(field.Uint())
	case ofMoment:
		p.time(*field.Addr().Interface().(*Time))
	case ofRaw:
		p.raw(field.Bytes())
	case ofTexts:
		p.texts(*field.Addr().Interface().(*[]string))
	case ofObject:
		p.object(m.within, field.Elem())
	case ofObjects:
		p.objects(m.within, field)
	default:
		p.general(field.Interface())
	}
}

func (p *pen) objects(l *layout, all reflect.Value) {
	p.out = append(p.out, '[')
	for i := range all.Len() {
		p.comma(i)
		p.object(l, all.Index(i))
	}
	p.out = append(p.out, ']')
}
