package dictionary

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentreach/agent-reach/schemas"
)

// Files of both kinds are read into the same tree of nodes, each of which knows its line. From there, entries go on as JSON.

var yamlLine = regexp.MustCompile(`(?s)^yaml: line (\d+): (.*)$`)

func readYAML(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	if err := dec.Decode(&document); err != nil {
		return nil, yamlFlaw(err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &flaw{more.Line, "the file has more than one document"}
	}
	return target(document.Content[0]), nil
}

func yamlFlaw(err error) error {
	if errors.Is(err, io.EOF) {
		return &flaw{1, "the file is empty"}
	}
	parts := yamlLine.FindStringSubmatch(err.Error())
	if parts == nil {
		return &flaw{0, strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	line, _ := strconv.Atoi(parts[1])
	return &flaw{line, parts[2]}
}

// maxNesting bounds the nodes above a node: what an entry may have, and the list around it.
const maxNesting = schemas.MaxDepth + 2

// target is what an alias stands for, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// memberOf is a member's value; nil if there is none.
func memberOf(node *yaml.Node, name string) *yaml.Node {
	_, value := keyAndValue(node, name)
	return value
}

func keyAndValue(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node = target(node); node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], target(node.Content[i+1])
		}
	}
	return nil, nil
}

// itemOf is an item of a list by its index, twice: it is its own key.
func itemOf(list *yaml.Node, index string) (item, value *yaml.Node) {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(list.Content) {
		return nil, nil
	}
	return list.Content[i], target(list.Content[i])
}

// lineOf is the line of what a JSON pointer into the entry names, or of the nearest that is there.
func lineOf(node *yaml.Node, pointer string) int {
	line := node.Line
	for _, name := range strings.Split(pointer, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		key, value := keyAndValue(node, name)
		if node.Kind == yaml.SequenceNode {
			key, value = itemOf(node, name)
		}
		if key == nil {
			break
		}
		line, node = key.Line, value
	}
	return line
}
