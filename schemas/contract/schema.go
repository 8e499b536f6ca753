package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/agentreach/agent-reach/schemas"
)

// Schema is a compiled schema. It never changes. A nil Schema accepts everything.
type Schema struct {
	raw   []byte
	parts []*part // none where every value fits
}

// part is one compiled document, with what is needed to speak of its violations and to count the work of a check.
type part struct {
	compiled *jsonschema.Schema
	document any             // as decoded, for messages
	known    map[string]bool // member names that the document mentions
	prices   prices
	declares declared
}

// Raw is the schema as compiled: shorthand expanded, in canonical form. Of Both it is the first.
func (s *Schema) Raw() []byte {
	if s == nil {
		return nil
	}
	return bytes.Clone(s.raw)
}

// Both accepts what a and b accept: an agent's narrower schema is applied as well as the dictionary's. Either may be nil.
func Both(a, b *Schema) *Schema {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &Schema{raw: a.raw, parts: slices.Concat(a.parts, b.parts)}
}

// Check is nil if the value, one JSON value, fits. It never panics, and its work is bounded by the size of the value.
func (s *Schema) Check(value []byte) *Violation {
	if s == nil {
		return nil
	}
	if len(s.parts) == 0 {
		return scanned(value)
	}
	decoded, violation := decodeValue(value, s.parts)
	if violation != nil {
		return violation
	}
	for _, p := range s.parts {
		if violation := p.check(decoded, len(value)); violation != nil {
			return violation
		}
	}
	return nil
}

// CheckInput checks the payload of a task.
func (s *Schema) CheckInput(capability string, payload []byte) *schemas.Error {
	violation := s.Check(payload)
	if violation == nil {
		return nil
	}
	return violation.refusal(schemas.InvalidArgument, schemas.ReasonInputSchema, violation.sentence("payload", capability))
}

// CheckOutput checks the result of a task.
func (s *Schema) CheckOutput(capability string, result []byte) *schemas.Error {
	return s.checkAnswer("result", capability, result)
}

// CheckChunk checks one piece of a result against a schema of such pieces.
func (s *Schema) CheckChunk(capability string, chunk []byte) *schemas.Error {
	return s.checkAnswer("chunk", capability, chunk)
}

func (s *Schema) checkAnswer(what, capability string, value []byte) *schemas.Error {
	violation := s.Check(value)
	if violation == nil {
		return nil
	}
	message := "the agent broke its contract: " + violation.sentence(what, capability)
	return violation.refusal(schemas.Internal, schemas.ReasonOutputSchema, message)
}

func scanned(value []byte) *Violation {
	if err := schemas.Scan(value); err != nil {
		return unreadable(schemas.AsError(err))
	}
	return nil
}

// decodeValue is what the documents look at of a value.
func decodeValue(value []byte, parts []*part) (any, *Violation) {
	if violation := scanned(value); violation != nil {
		return nil, violation
	}
	if bytes.Count(value, []byte(",")) >= pruneFrom {
		var err error
		if value, err = prune(value, parts); errors.Is(err, errUnaffordable) {
			return nil, unaffordable()
		}
	}
	decoded, err := decodeExact(value)
	if err != nil {
		return nil, &Violation{Message: "is not JSON", Expected: "JSON"}
	}
	return decoded, nil
}

// decodeExact keeps every number as its literal.
func decodeExact(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	return value, nil
}

func (p *part) check(value any, size int) (violation *Violation) {
	if !p.prices.affordable(p.compiled, value, size) {
		return unaffordable()
	}
	defer func() {
		if recover() != nil {
			violation = uncheckable()
		}
	}()
	if err := p.compiled.Validate(value); err != nil {
		return p.explain(err, value)
	}
	return nil
}
