package workerfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/nearest"
)

// Bounds of what aliases may expand to.
const (
	maxDepth = schemas.MaxDepth
	maxBytes = 1 << 20
)

// document is a YAML file while it becomes JSON of known types.
type document struct {
	path     string
	root     *yaml.Node
	out      bytes.Buffer
	problems []error
	spent    bool // a bound is reached: nothing more is read
}

// decode reads the one YAML document of content into value, a pointer to a struct with JSON names.
func decode(path string, content []byte, value any) (*document, error) {
	root, err := one(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	doc := &document{path: path, root: root}
	doc.value(root, reflect.TypeOf(value).Elem(), "", maxDepth)
	if err := errors.Join(doc.problems...); err != nil {
		return nil, err
	}
	if err := schemas.Accept(doc.out.Bytes(), value); err != nil {
		return nil, doc.misfit(schemas.AsError(err))
	}
	return doc, nil
}

func one(content []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(content))
	var document, more yaml.Node
	if err := dec.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		return nil, err
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	return document.Content[0], nil
}

func (d *document) fail(node *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems, fmt.Errorf("%s:%d: %s", d.path, node.Line, fmt.Sprintf(format, args...)))
}

// value writes node as JSON. Of type t it uses what YAML leaves open: which keys there are, and that 1.0 may be meant as a text.
func (d *document) value(node *yaml.Node, t reflect.Type, name string, depth int) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if d.spent {
		return
	}
	if depth == 0 || d.out.Len() > maxBytes {
		d.fail(node, "%s is too large or too deep", name)
		d.spent = true
		return
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch node.Kind {
	case yaml.MappingNode:
		d.mapping(node, t, name, depth-1)
	case yaml.SequenceNode:
		d.sequence(node, t, name, depth-1)
	default:
		d.scalar(node, t)
	}
}

func (d *document) mapping(node *yaml.Node, t reflect.Type, name string, depth int) {
	known := members(t)
	seen := make(map[string]bool)
	d.out.WriteByte('{')
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		of, found := memberType(t, known, key.Value)
		switch {
		case !found:
			d.fail(key, "%s", unknown(name, key.Value, known))
			continue
		case seen[key.Value]:
			d.fail(key, "%q is there twice", key.Value)
			continue
		case isNull(node.Content[i+1]) && known != nil:
			continue // "key:" without a value says nothing
		}
		if len(seen) > 0 {
			d.out.WriteByte(',')
		}
		seen[key.Value] = true
		d.text(key.Value)
		d.out.WriteByte(':')
		d.value(node.Content[i+1], of, key.Value, depth)
	}
	d.out.WriteByte('}')
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

func (d *document) sequence(node *yaml.Node, t reflect.Type, name string, depth int) {
	element := anything
	if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		element = t.Elem()
	}
	d.out.WriteByte('[')
	for i, item := range node.Content {
		if i > 0 {
			d.out.WriteByte(',')
		}
		d.value(item, element, name, depth)
	}
	d.out.WriteByte(']')
}

func (d *document) scalar(node *yaml.Node, t reflect.Type) {
	switch {
	case t.Kind() == reflect.String && !isNull(node):
		d.text(node.Value)
	case node.Tag == "!!null":
		d.out.WriteString("null")
	case node.Tag == "!!bool":
		var b bool
		_ = node.Decode(&b) // the tag says that it is one
		d.out.WriteString(strconv.FormatBool(b))
	case node.Tag == "!!int" || node.Tag == "!!float":
		d.number(node)
	default:
		d.text(node.Value)
	}
}

// number keeps a literal that JSON has too, and spells out the others, such as 0x10 or 1_000.
func (d *document) number(node *yaml.Node) {
	if schemas.Scan([]byte(node.Value)) == nil {
		d.out.WriteString(node.Value)
		return
	}
	var n int64
	var f float64
	switch {
	case node.Tag == "!!int" && node.Decode(&n) == nil:
		d.out.WriteString(strconv.FormatInt(n, 10))
	case node.Decode(&f) == nil && schemas.Scan(strconv.AppendFloat(nil, f, 'g', -1, 64)) == nil:
		d.out.Write(strconv.AppendFloat(nil, f, 'g', -1, 64))
	default:
		d.fail(node, "a number that JSON does not have")
		d.out.WriteString("null")
	}
}

func (d *document) text(s string) { d.out.Write(schemas.MustEncode(strings.ToValidUTF8(s, "\uFFFD"))) }

// misfit is the error of a value that is not of its key's type.
func (d *document) misfit(problem *schemas.Error) error {
	var field string
	problem.Detail("field", &field)
	problem.Message = field[strings.LastIndex(field, "/")+1:] + ": " + problem.Message
	return d.at(problem)
}

// at puts the line of details.field before an error.
func (d *document) at(problem *schemas.Error) error {
	var field string
	problem.Detail("field", &field)
	return fmt.Errorf("%s:%d: %s", d.path, lineOf(d.root, field), problem.Message)
}

// lineOf is the line of the value that a JSON pointer names, or of the innermost one on the way that exists.
func lineOf(node *yaml.Node, pointer string) int {
	line := node.Line
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		at, next := child(node, step)
		if next == nil {
			return line
		}
		line, node = at, next
	}
	return line
}

func child(node *yaml.Node, step string) (line int, value *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i].Line, node.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i].Line, node.Content[i]
		}
	}
	return 0, nil
}

// anything is the type of a value whose shape is not ours to know.
var anything = reflect.TypeFor[any]()

// members are the JSON names of a struct, each with its type; nil for what is no struct.
func members(t reflect.Type) map[string]reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	known := make(map[string]reflect.Type)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "v" {
			known[name] = t.Field(i).Type
		}
	}
	if t == reflect.TypeFor[schemas.Offer]() {
		known["name"] = known["id"]
		delete(known, "alignment") // a dispatcher's to derive
	}
	return known
}

// memberType is the type of a key's value, and whether there may be such a key. What is no struct takes any key.
func memberType(t reflect.Type, known map[string]reflect.Type, key string) (reflect.Type, bool) {
	if known != nil {
		of, found := known[key]
		return of, found
	}
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	return anything, true
}

func unknown(section, key string, known map[string]reflect.Type) string {
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	if section == "" {
		section = "the file"
	}
	if near, ok := nearest.Name(key, names); ok {
		return fmt.Sprintf("%q is no key of %s; did you mean %q?", key, section, near)
	}
	return fmt.Sprintf("%q is no key of %s; it has %s", key, section, strings.Join(names, ", "))
}
