package schemas

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// written is a message that there are several of for each task, and that therefore writes itself: byte for byte what the general
// encoder would make of it, in half the time. Values of any other type, and the same types by value, go through that one.
type written interface {
	write(p *pen)
	room() int // a guess of how many bytes it has, beside its raw values
}

// pen writes JSON objects. Whatever it cannot write as the general encoder would is for that one: then all of the message is.
type pen struct {
	out    []byte
	lost   bool
	second int64 // of the last moment that was written
	moment int   // where that is; 0 before
}

// encodeWritten is nil for what the general encoder has to look at.
func encodeWritten(w written) []byte {
	p := pen{out: make([]byte, 0, w.room())}
	p.open()
	w.write(&p)
	p.close()
	if p.lost {
		return nil
	}
	return p.out
}

func (p *pen) open()  { p.out = append(p.out, '{') }
func (p *pen) close() { p.out = append(p.out, '}') }

// name begins a member.
func (p *pen) name(name string) {
	if p.out[len(p.out)-1] != '{' {
		p.out = append(p.out, ',')
	}
	p.out = append(p.out, '"')
	p.out = append(p.out, name...)
	p.out = append(p.out, '"', ':')
}

func (p *pen) version(v Version) { p.number("v", int64(max(v, CurrentVersion))) }

func (p *pen) number(name string, n int64) {
	p.name(name)
	p.out = strconv.AppendInt(p.out, n, 10)
}

func (p *pen) numberIf(name string, n int64) {
	if n != 0 {
		p.number(name, n)
	}
}

func (p *pen) sequence(name string, n uint64) {
	p.name(name)
	p.out = strconv.AppendUint(p.out, n, 10)
}

func (p *pen) sequenceIf(name string, n uint64) {
	if n != 0 {
		p.sequence(name, n)
	}
}

func (p *pen) flag(name string, b bool) {
	p.name(name)
	p.out = strconv.AppendBool(p.out, b)
}

func (p *pen) flagIf(name string, b bool) {
	if b {
		p.flag(name, b)
	}
}

func (p *pen) text(name, text string) {
	p.name(name)
	p.quote(text)
}

func (p *pen) textIf(name, text string) {
	if text != "" {
		p.text(name, text)
	}
}

func (p *pen) textsIf(name string, texts []string) {
	if len(texts) == 0 {
		return
	}
	p.name(name)
	p.out = append(p.out, '[')
	for i, text := range texts {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		p.quote(text)
	}
	p.out = append(p.out, ']')
}

func (p *pen) quote(text string) {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			var err error
			p.out, err = jsontext.AppendQuote(p.out, text)
			p.lost = p.lost || err != nil
			return
		}
	}
	p.out = append(p.out, '"')
	p.out = append(p.out, text...)
	p.out = append(p.out, '"')
}

// momentIf writes a moment that is not absent. Those of a message lie within a second, as a rule, and share how they begin.
func (p *pen) momentIf(name string, t Time) {
	if t.IsZero() {
		return
	}
	p.name(name)
	p.out = append(p.out, '"')
	start, second := len(p.out), t.Unix()
	if p.moment > 0 && second == p.second {
		const shared = len("2006-01-02T15:04:05.")
		p.out = appendMilliseconds(append(p.out, p.out[p.moment:p.moment+shared]...), t)
	} else {
		p.out = t.append(p.out)
	}
	p.second, p.moment = second, start
	p.out = append(p.out, '"')
}

// rawIf writes a raw value that is not absent, if it is valid.
func (p *pen) rawIf(name string, value []byte) {
	if value == nil {
		return
	}
	p.name(name)
	var err error
	p.out, err = jsontext.AppendFormat(p.out, value, jsontext.PreserveRawStrings(true))
	p.lost = p.lost || err != nil
}

// generalIf writes a value that is seldom there by the general encoder.
func (p *pen) generalIf(name string, there bool, value any) {
	if !there {
		return
	}
	p.name(name)
	encoded, err := Encode(value)
	p.out = append(p.out, encoded...)
	p.lost = p.lost || err != nil
}

// unknown leaves a message with members that this version does not know to the general encoder.
func (p *pen) unknown(members jsontext.Value) { p.lost = p.lost || len(members) > 0 }

func (p *pen) hopsIf(hops []Hop) {
	if len(hops) == 0 {
		return
	}
	p.name("hops")
	p.out = append(p.out, '[')
	for i := range hops {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		p.open()
		hops[i].write(p)
		p.close()
	}
	p.out = append(p.out, ']')
}
