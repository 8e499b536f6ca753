package route

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// reader walks through the nodes of a file and collects what is wrong with them.
type reader struct{ problems Problems }

func (r *reader) problem(n *yaml.Node, format string, args ...any) { r.at(n.Line, format, args...) }

func (r *reader) at(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{Line: line, Reason: fmt.Sprintf(format, args...)})
}

var yamlLine = regexp.MustCompile(`(?s)^yaml: line (\d+): (.*)$`)

// readYAML gives the one document of a file.
func readYAML(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	err := dec.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, Problems{{1, "the file is empty; routes: [] says that there are none"}}
	}
	if err != nil {
		return nil, syntax(err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, Problems{{max(1, more.Line), "the file has more than one document"}}
	}
	return target(document.Content[0]), nil
}

func syntax(err error) Problems {
	parts := yamlLine.FindStringSubmatch(err.Error())
	if parts == nil {
		return Problems{{1, strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	line, _ := strconv.Atoi(parts[1])
	return Problems{{line, parts[2]}}
}

// target is what an alias stands for, or the node itself.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// fields are the members that an object may have, and what reads their values.
type fields map[string]func(*yaml.Node)

// object reads an object whose required members are there and that has no others than fields.
func (r *reader) object(n *yaml.Node, what string, known fields, required ...string) {
	if n.Kind != yaml.MappingNode {
		r.problem(n, "%s is an object with %s", what, list(known))
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], target(n.Content[i+1])
		read := known[key.Value]
		switch {
		case read == nil:
			r.problem(key, "%s is not known here; %s has %s", quote(key.Value), what, list(known))
		case seen[key.Value]:
			r.problem(key, "%s is there twice", key.Value)
		default:
			read(value)
		}
		seen[key.Value] = true
	}
	for _, name := range required {
		if !seen[name] {
			r.problem(n, "%s needs %s", what, name)
		}
	}
}

func list(known fields) string { return strings.Join(slices.Sorted(maps.Keys(known)), ", ") }

// maxQuoted bounds what is repeated of a file's words.
const maxQuoted = 64

func quote(text string) string {
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return strconv.QuoteToGraphic(text)
}

// each reads the items of a list that is not too long.
func (r *reader) each(n *yaml.Node, what string, limit int, read func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		r.problem(n, "%s is a list", what)
		return
	}
	if len(n.Content) > limit {
		r.problem(n, "%s has %d items; %d is the limit", what, len(n.Content), limit)
		return
	}
	for _, item := range n.Content {
		read(target(item))
	}
}

// text reads a text of one line, as long as limit at most. A number that stands for itself, as in version: 2, is one too.
func (r *reader) text(n *yaml.Node, what string, limit int) string {
	odd := func(c rune) bool { return !unicode.IsPrint(c) }
	isText := n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null"
	if !isText || n.Value == "" || len(n.Value) > limit || strings.ContainsFunc(n.Value, odd) {
		r.problem(n, "%s takes 1 to %d bytes of printable text", what, limit)
		return ""
	}
	return n.Value
}

// integer reads a whole number.
func (r *reader) integer(n *yaml.Node, what string) int64 {
	var value int64
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&value) != nil {
		r.problem(n, "%s takes a whole number", what)
	}
	return value
}

// number reads any number.
func (r *reader) number(n *yaml.Node, what string) float64 {
	var value float64
	numeric := n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float")
	if !numeric || n.Decode(&value) != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		r.problem(n, "%s takes a number", what)
		return 0
	}
	return value
}
