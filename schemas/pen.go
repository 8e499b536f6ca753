package schemas

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// pen writes JSON. Whatever it cannot write as the general encoder would is for that one: then all of the message is.
type pen struct {
	out    []byte
	lost   bool
	second int64 // of the last moment that was written
	moment int   // where that is; 0 before
}

// name begins a member.
func (p *pen) name(name string) {
	if p.out[len(p.out)-1] != '{' {
		p.out = append(p.out, ',')
	}
	p.out = append(p.out, '"')
	p.out = append(p.out, name...)
	p.out = append(p.out, '"', ':')
}

func (p *pen) number(n int64)    { p.out = strconv.AppendInt(p.out, n, 10) }
func (p *pen) sequence(n uint64) { p.out = strconv.AppendUint(p.out, n, 10) }
func (p *pen) flag(b bool)       { p.out = strconv.AppendBool(p.out, b) }

// comma goes before every element but the first.
func (p *pen) comma(i int) {
	if i > 0 {
		p.out = append(p.out, ',')
	}
}

func (p *pen) texts(texts []string) {
	p.out = append(p.out, '[')
	for i, text := range texts {
		p.comma(i)
		p.text(text)
	}
	p.out = append(p.out, ']')
}

func (p *pen) text(text string) {
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

// time writes a moment. Those of a message lie within a second, as a rule, and share how they begin.
func (p *pen) time(t Time) {
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

// raw writes a value as it is, if it is valid.
func (p *pen) raw(value []byte) {
	var err error
	p.out, err = jsontext.AppendFormat(p.out, value, jsontext.PreserveRawStrings(true))
	p.lost = p.lost || err != nil
}

func (p *pen) general(value any) {
	encoded, err := Encode(value)
	p.out = append(p.out, encoded...)
	p.lost = p.lost || err != nil
}
