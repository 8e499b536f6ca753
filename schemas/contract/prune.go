package contract

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// pruneFrom is how many values one may have within it, at least, before it is pruned: below that all of it is decoded.
const pruneFrom = 32 << 10

// What is left of a value has a price, too: the one that the check will pay for a value that a schema looks at, and less for one that is
// only there. So what no check could afford is not decoded either.
const (
	priceOfStub     = 2
	priceOfCompared = 4
)

var errUnaffordable = errors.New("more values than a check can look at")

// prune is a valid value without what none of the schemas look at: a value of millions of numbers that are only called a list is not
// decoded number by number. What is left out is null, or is missing where nobody counts the elements of a list.
func prune(value []byte, parts []*part) ([]byte, error) {
	p := pruning{dec: jsontext.NewDecoder(bytes.NewBuffer(value))}
	roots := make([]*jsonschema.Schema, len(parts))
	for i, one := range parts {
		roots[i] = one.compiled
	}
	if err := p.value(eyes{}.with(roots...)); err != nil {
		return nil, err
	}
	return p.out, nil
}

// eyes are the schemas that look at one value.
type eyes struct {
	schemas []*jsonschema.Schema
	deep    bool // something compares the value as a whole
}

// with adds schemas and those that they apply to the same value. The schemas true and false look at nothing.
func (e eyes) with(several ...*jsonschema.Schema) eyes {
	for _, s := range several {
		if s == nil || s.Always != nil || e.has(s) {
			continue
		}
		e.schemas = append(e.schemas, s)
		e.deep = e.deep || s.UniqueItems || len(s.Enum) > 0 || len(s.Constant) > 0
		for inner := range inPlace(s) {
			e = e.with(inner)
		}
	}
	return e
}

func (e eyes) has(s *jsonschema.Schema) bool {
	for _, one := range e.schemas {
		if one == s {
			return true
		}
	}
	return false
}

func (e eyes) closed() bool { return len(e.schemas) == 0 && !e.deep }

func (e eyes) price() int {
	switch {
	case e.closed():
		return priceOfStub
	case len(e.schemas) == 0:
		return priceOfCompared
	}
	return priceOfVisit
}

// member are those that look at a member.
func (e eyes) member(name string) eyes {
	inner := eyes{deep: e.deep}
	for _, s := range e.schemas {
		inner = inner.with(s.Properties[name], s.UnevaluatedProperties)
		for _, one := range s.PatternProperties { // whether it matches is the check's to find out
			inner = inner.with(one)
		}
		if rest, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
			inner = inner.with(rest)
		}
	}
	return inner
}

// item are those that look at an element.
func (e eyes) item(i int) eyes {
	inner := eyes{deep: e.deep}
	for _, s := range e.schemas {
		inner = inner.with(itemSchema(s, i), s.Contains, s.UnevaluatedItems)
	}
	return inner
}

// apart is how many elements have schemas of their own place, and whether anything counts all.
func (e eyes) apart() (first int, counted bool) {
	for _, s := range e.schemas {
		first = max(first, len(s.PrefixItems))
		if listed, ok := s.Items.([]*jsonschema.Schema); ok {
			first = max(first, len(listed))
		}
		counted = counted || s.MinItems >= 0 || s.MaxItems >= 0 || s.Contains != nil || s.UnevaluatedItems != nil ||
			s.AdditionalItems != nil || s.Items != nil || s.Items2020 != nil
	}
	return first, counted || e.deep
}

// pruning is a value while it is pruned.
type pruning struct {
	dec   *jsontext.Decoder
	out   []byte
	spent int
}

func (p *pruning) value(e eyes) error {
	if p.spent += e.price(); p.spent > budgetMost {
		return errUnaffordable
	}
	kind := p.dec.PeekKind()
	switch {
	case e.closed():
		p.out = append(p.out, "null"...)
		return p.dec.SkipValue()
	case kind == '{':
		return p.within('}', func(int) error { return p.member(e) })
	case kind == '[':
		return p.list(e)
	}
	raw, err := p.dec.ReadValue()
	p.out = append(p.out, raw...)
	return err
}

// within copies an object or a list, one element after the other.
func (p *pruning) within(end jsontext.Kind, element func(i int) error) error {
	open, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	p.out = append(p.out, byte(open.Kind()))
	start := len(p.out)
	for i := 0; p.dec.PeekKind() != end; i++ {
		if len(p.out) > start && p.out[len(p.out)-1] != ',' {
			p.out = append(p.out, ',')
		}
		if err := element(i); err != nil {
			return err
		}
	}
	p.out = append(bytes.TrimSuffix(p.out, []byte(",")), byte(end))
	_, err = p.dec.ReadToken()
	return err
}

func (p *pruning) member(e eyes) error {
	raw, err := p.dec.ReadValue()
	if err != nil {
		return err
	}
	p.out = append(append(p.out, raw...), ':')
	name, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return err
	}
	return p.value(e.member(string(name)))
}

func (p *pruning) list(e eyes) error {
	first, counted := e.apart()
	rest := e.item(first)
	return p.within(']', func(i int) error {
		switch {
		case i < first:
			return p.value(e.item(i))
		case rest.closed() && !counted:
			return p.dec.SkipValue()
		}
		return p.value(rest)
	})
}
