package dictionary

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

const (
	tooDeep = "this is nested too deeply"

	// maxEntryNodes bounds an entry, aliases counted as often as they are used.
	maxEntryNodes = 100_000
)

// numberLiteral is a number as JSON writes it. What a file writes so stays so, whatever YAML makes of it.
var numberLiteral = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// jsonWriter writes nodes as JSON.
type jsonWriter struct {
	bytes.Buffer
	nodes int
}

func toJSON(node *yaml.Node) ([]byte, error) {
	var w jsonWriter
	if err := w.node(node, 0); err != nil {
		return nil, err
	}
	return w.Bytes(), nil
}

func (w *jsonWriter) node(node *yaml.Node, depth int) error {
	node = target(node)
	if w.nodes++; w.nodes > maxEntryNodes {
		return &flaw{node.Line, "this entry is too large"}
	}
	if depth > maxNesting {
		return &flaw{node.Line, tooDeep}
	}
	switch node.Kind {
	case yaml.MappingNode:
		return w.object(node, depth)
	case yaml.SequenceNode:
		return w.list(node, depth)
	}
	return w.scalar(node)
}

func (w *jsonWriter) object(node *yaml.Node, depth int) error {
	seen := make(map[string]bool, len(node.Content)/2)
	w.WriteByte('{')
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := target(node.Content[i])
		if problem := checkKey(key, seen); problem != "" {
			return &flaw{key.Line, problem}
		}
		seen[key.Value] = true
		if i > 0 {
			w.WriteByte(',')
		}
		w.text(key.Value)
		w.WriteByte(':')
		if err := w.node(node.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return nil
}

func checkKey(key *yaml.Node, seen map[string]bool) string {
	switch {
	case key.Kind != yaml.ScalarNode || key.Tag == "!!null":
		return "the name of a member is a text"
	case key.Tag == "!!merge":
		return "merging (<<) is not understood here; use an alias for the whole value"
	case seen[key.Value]:
		return key.Value + " is there twice"
	}
	return ""
}

func (w *jsonWriter) list(node *yaml.Node, depth int) error {
	w.WriteByte('[')
	for i, inner := range node.Content {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := w.node(inner, depth+1); err != nil {
			return err
		}
	}
	w.WriteByte(']')
	return nil
}

func (w *jsonWriter) scalar(node *yaml.Node) error {
	if node.Style == 0 && numberLiteral.MatchString(node.Value) {
		w.WriteString(node.Value)
		return nil
	}
	switch node.ShortTag() {
	case "!!null":
		w.WriteString("null")
	case "!!bool":
		return w.decoded(node, new(bool))
	case "!!int":
		return w.decoded(node, new(int64))
	case "!!float":
		return w.float(node)
	default: // a date, too, is a text in JSON
		w.text(node.Value)
	}
	return nil
}

// decoded writes what YAML spells in its own way: 0x1f, 1_000, True.
func (w *jsonWriter) decoded(node *yaml.Node, value any) error {
	if err := node.Decode(value); err != nil {
		return &flaw{node.Line, "this number or truth value does not fit"}
	}
	raw, err := json.Marshal(value)
	w.Write(raw)
	return err
}

func (w *jsonWriter) float(node *yaml.Node) error {
	var value float64
	if err := node.Decode(&value); err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return &flaw{node.Line, "JSON has no such number"}
	}
	w.WriteString(strconv.FormatFloat(value, 'g', -1, 64))
	return nil
}

func (w *jsonWriter) text(text string) {
	raw, _ := json.Marshal(text) // a string always encodes
	w.Write(raw)
}
