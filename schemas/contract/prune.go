package contract

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// pruneFrom is how many values one may have within it, at least, before it is pruned: below that all of it is decoded.
const pruneFrom = 32 << 10

// priceOfCompared is that of a value that no schema looks at, and that is compared with others.
const priceOfCompared = 1

var errUnaffordable = errors.New("more values than a check can look at")

// prune is a valid value without what none of the schemas look at: a value of millions of numbers that are only called a list is not
// decoded number by number. What is left out is null, or is missing where nobody counts the elements of a list.
//
// This has a price, too: not more than that of the checks to come, but for millions of values that are compared with a list or an object.
// So what the checks could not afford is not even decoded.
func prune(value []byte, parts []*part) ([]byte, error) {
	p := newPruning(value, parts)
	if err := p.whole(parts); err != nil {
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
		e.deep = e.deep || anyComposite(s.Enum) || anyComposite(s.Constant)
		for inner := range inPlace(s) {
			e = e.with(inner)
		}
	}
	return e
}

// anyComposite reports whether one of the constants is more than a scalar, which is no list and no object, whatever these hold.
func anyComposite(constants []any) bool {
	return slices.ContainsFunc(constants, func(constant any) bool {
		switch constant.(type) {
		case map[string]any, []any:
			return true
		}
		return false
	})
}

func (e eyes) has(s *jsonschema.Schema) bool { return slices.Contains(e.schemas, s) }

func (e eyes) closed() bool { return len(e.schemas) == 0 && !e.deep }

func (e eyes) price() int {
	if len(e.schemas) == 0 && e.deep {
		return priceOfCompared
	}
	return priceOfVisit * len(e.schemas)
}

// priceOfMember is that of finding out who looks at a member.
func (e eyes) priceOfMember() int {
	price := len(e.schemas)
	for _, s := range e.schemas {
		price += len(s.PatternProperties)
	}
	return price
}

// member are those that look at a member.
func (e eyes) member(name string) eyes {
	inner := eyes{deep: e.deep}
	for _, s := range e.schemas {
		own, listed := s.Properties[name]
		inner = inner.with(own, s.UnevaluatedProperties)
		for _, one := range s.PatternProperties { // whether it matches is the check's to find out
			inner = inner.with(one)
		}
		if rest, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !listed {
			inner = inner.with(rest)
		}
	}
	return inner
}

// unique reports whether elements are compared with each other.
func (e eyes) unique() bool {
	return slices.ContainsFunc(e.schemas, func(s *jsonschema.Schema) bool { return s.UniqueItems })
}

// item are those that look at an element.
func (e eyes) item(i int) eyes {
	inner := eyes{deep: e.deep || e.unique()}
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
	return first, counted || e.deep || e.unique()
}

// pruning is a value while it is pruned.
type pruning struct {
	dec  *jsontext.Decoder
	out  []byte
	left int // of the budget
}

func newPruning(value []byte, parts []*part) *pruning {
	return &pruning{dec: jsontext.NewDecoder(bytes.NewBuffer(value)), left: len(parts) * budget(len(value))}
}

func (p *pruning) whole(parts []*part) error {
	roots := make([]*jsonschema.Schema, len(parts))
	for i, one := range parts {
		roots[i] = one.compiled
	}
	return p.value(eyes{}.with(roots...))
}

func (p *pruning) pay(price int) error {
	if p.left -= price; p.left < 0 {
		return errUnaffordable
	}
	return nil
}

func (p *pruning) value(e eyes) error {
	if err := p.pay(e.price()); err != nil {
		return err
	}
	kind := p.dec.PeekKind()
	switch {
	case e.closed():
		p.out = append(p.out, "null"...)
		return p.dec.SkipValue()
	case kind == '{':
		return p.object(e)
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

func (p *pruning) object(e eyes) error {
	price := e.priceOfMember()
	return p.within('}', func(int) error {
		if err := p.pay(price); err != nil {
			return err
		}
		return p.member(e)
	})
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
	var inner eyes
	return p.within(']', func(i int) error {
		if i <= first { // all that follow are looked at as this one
			inner = e.item(i)
		}
		if i >= first && inner.closed() && !counted {
			return p.dec.SkipValue()
		}
		if err := p.pay(len(e.schemas)); err != nil {
			return err
		}
		return p.value(inner)
	})
}
