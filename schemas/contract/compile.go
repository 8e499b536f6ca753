package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/agentreach/agent-reach/schemas"
)

// Bounds of a schema. The depth of the document is bounded by schemas.MaxDepth.
const (
	MaxBytes      = 64 << 10 // of the document
	MaxSubschemas = 1000     // schemas in the document
	MaxExpansion  = 1000     // schemas that one value meets, each $ref counted as often as it is followed
)

// ReasonBadSchema is the reason of every refusal of Compile.
const ReasonBadSchema = "BAD_SCHEMA"

// location is what the validator takes the document's address to be. Its scheme has no loader.
const location = "reach://local/schema"

// Compile reads a schema, a JSON Schema or shorthand for one, and makes it ready for Check. The error is an *schemas.Error with
// code INVALID_ARGUMENT, reason BAD_SCHEMA, and details.pointer, the place in the schema as a JSON pointer.
//
// Shorthand is an object without any keyword of JSON Schema, from names to types: {"diff": "string", "rules": "array"} is an object
// in which both are required; "array?" makes one optional.
func Compile(raw []byte) (*Schema, error) {
	document, err := readDocument(raw)
	if err != nil {
		return nil, err
	}
	if document, err = expand(document); err != nil {
		return nil, err
	}
	found, err := surveyDocument(document)
	if err != nil {
		return nil, err
	}
	compiled, err := compileDocument(withoutID(document))
	if err != nil {
		return nil, err
	}
	if err := checkExpansion(compiled); err != nil {
		return nil, err
	}
	form, err := canonical(document)
	if err != nil {
		return nil, err
	}
	if fitsAll(document) {
		return &Schema{raw: form}, nil
	}
	p := &part{compiled: compiled, document: document, known: found.known, prices: priceList(compiled), declares: declaredBy(document)}
	return &Schema{raw: form, parts: []*part{p}}, nil
}

// fitsAll reports whether every value fits, whatever the validator would do to find that out.
func fitsAll(document any) bool {
	switch d := document.(type) {
	case bool:
		return d
	case map[string]any:
		return len(d) == 0
	}
	return false
}

func readDocument(raw []byte) (any, error) {
	if len(raw) > MaxBytes {
		return nil, refuse("", "the schema has %d bytes; %d is the limit", len(raw), MaxBytes)
	}
	if err := schemas.Scan(raw); err != nil {
		return nil, fromScan(schemas.AsError(err))
	}
	document, err := decodeExact(raw)
	if err != nil {
		return nil, refuse("", "the schema is not JSON")
	}
	return document, nil
}

func fromScan(err *schemas.Error) error {
	var pointer string
	err.Detail("field", &pointer)
	return refuse(pointer, "%s", err.Message)
}

func canonical(document any) ([]byte, error) {
	raw, err := marshal(document)
	if err != nil {
		return nil, err
	}
	return schemas.Canonical(raw)
}

func marshal(document any) ([]byte, error) {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(document); err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return raw.Bytes(), nil
}

// withoutID takes the document's own address away: it names no place that we look at, and references within need none. An anchor
// in its place stays.
func withoutID(document any) any {
	object, ok := document.(map[string]any)
	if !ok {
		return document
	}
	key := idKeyword(document)
	if id, _ := object[key].(string); strings.HasPrefix(id, "#") {
		return document
	}
	rest := maps.Clone(object)
	delete(rest, key)
	return rest
}

func compileDocument(document any) (compiled *jsonschema.Schema, err error) {
	defer func() {
		if recover() != nil {
			err = refuse("", "the schema cannot be compiled")
		}
	}()
	raw, err := marshal(document)
	if err != nil {
		return nil, err
	}
	compiler := newCompiler()
	if err := compiler.AddResource(location, bytes.NewReader(raw)); err != nil {
		return nil, refuse("", "the schema is not JSON")
	}
	compiled, err = compiler.Compile(location)
	if err != nil {
		return nil, fromValidator(err)
	}
	return compiled, nil
}

func newCompiler() *jsonschema.Compiler {
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	compiler.LoadURL = func(string) (io.ReadCloser, error) { return nil, errors.New("nothing is loaded") }
	compiler.AssertFormat = true
	compiler.Formats["regex"] = isPattern
	// The old drafts assert content, the new ones do not. A nil function asserts nothing.
	compiler.Decoders["base64"] = nil
	compiler.MediaTypes["application/json"] = nil
	return compiler
}

// fromValidator puts the validator's refusal into our words.
func fromValidator(err error) error {
	var loop jsonschema.InfiniteLoopError
	if errors.As(err, &loop) {
		return refuse(loopPointer(string(loop)), "the schema refers to itself without end")
	}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return misused(plainPointer(worst(invalid).InstanceLocation))
	}
	return refuse("", "the schema cannot be compiled")
}

// misused names the keyword that holds something it does not take.
func misused(pointer string) error {
	names := namesOf(pointer)
	for i := len(names) - 1; i >= 0; i-- {
		switch {
		case names[i] == "type":
			return refuse(pointer, "type takes %s, or a list of these", orList(typeNames))
		case keywords[names[i]]:
			return refuse(pointer, "this is not what %s takes", names[i])
		}
	}
	return refuse(pointer, "the schema does not follow its draft")
}

// loopPointer is the first reference on the way that leads back: the way names each keyword that was followed.
func loopPointer(way string) string {
	_, fragment, _ := strings.Cut(way, "#")
	tokens := strings.Split(fragment, "/")
	for i, token := range tokens {
		if referenceKeywords[token] {
			return plainPointer(strings.Join(tokens[:i+1], "/"))
		}
	}
	return plainPointer(fragment)
}

// refuse makes the error of Compile.
func refuse(pointer, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if pointer != "" {
		message += " (at " + shorten(pointer) + ")"
	}
	return schemas.NewError(schemas.InvalidArgument, ReasonBadSchema, "%s", message).With("pointer", shorten(pointer))
}

// maxPointer bounds the pointers that an error quotes.
const maxPointer = 256

func shorten(pointer string) string {
	if len(pointer) <= maxPointer {
		return pointer
	}
	return strings.ToValidUTF8(pointer[:maxPointer], "") + "…"
}
