package dictionary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// jsonReader makes nodes of JSON and counts lines on the way.
type jsonReader struct {
	data    []byte
	dec     *json.Decoder
	line    int
	counted int // bytes whose lines are in line
}

func readJSON(data []byte) (*yaml.Node, error) {
	if !utf8.Valid(data) {
		return nil, &flaw{0, "the file is not UTF-8"}
	}
	r := &jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.dec.UseNumber()
	root, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &flaw{r.line, "more follows after the first JSON value"}
	}
	return root, nil
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		return r.composite(t, depth)
	case string:
		return r.scalar("!!str", t, yaml.DoubleQuotedStyle), nil
	case json.Number:
		return r.scalar("!!float", t.String(), 0), nil
	case bool:
		return r.scalar("!!bool", fmt.Sprint(t), 0), nil
	}
	return r.scalar("!!null", "null", 0), nil
}

// composite reads an object or array after its opening bracket. The decoder has checked where brackets, names and values stand.
func (r *jsonReader) composite(open json.Delim, depth int) (*yaml.Node, error) {
	if depth > maxNesting {
		return nil, &flaw{r.line, tooDeep}
	}
	node := &yaml.Node{Kind: yaml.SequenceNode, Line: r.line}
	if open == '{' {
		node.Kind = yaml.MappingNode
	}
	for r.dec.More() {
		inner, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, inner)
	}
	_, err := r.token()
	return node, err
}

func (r *jsonReader) scalar(tag, text string, style yaml.Style) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text, Style: style, Line: r.line}
}

func (r *jsonReader) token() (json.Token, error) {
	token, err := r.dec.Token()
	var wrong *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		r.count(int(wrong.Offset))
		return nil, &flaw{r.line, "this is not JSON"}
	case err != nil:
		r.count(len(r.data))
		return nil, &flaw{r.line, "the JSON ends too early"}
	}
	r.count(int(r.dec.InputOffset()))
	return token, nil
}

func (r *jsonReader) count(offset int) {
	offset = min(offset, len(r.data))
	if offset > r.counted {
		r.line += bytes.Count(r.data[r.counted:offset], []byte("\n"))
		r.counted = offset
	}
}
