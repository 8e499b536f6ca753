package dictionary

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/nearest"
)

// MaxFileBytes bounds a file of capabilities.
const MaxFileBytes = 16 << 20

var (
	fileMembers  = []string{"capabilities"}
	entryMembers = []string{
		"aliases", "chunk_schema", "description", "error_mapping", "id", "idempotent", "input_schema", "output_schema", "probe", "tags",
		"timeout_hint_ms", "v",
	}
)

// ReadFile reads a file with a list of entries under capabilities, JSON if its name ends in .json, else YAML, and prepares each.
// Members that no entry has are refused, here and nowhere else: in a file they are misspellings. Numbers in schemas and probes stay
// as written. Errors begin with path and line.
func ReadFile(path string) ([]schemas.Capability, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open capabilities: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read capabilities: %w", err)
	}
	if len(data) > MaxFileBytes {
		return nil, fmt.Errorf("%s: the file has more than %d bytes", path, MaxFileBytes)
	}
	return parse(path, data)
}

// flaw is a problem with a line of the file.
type flaw struct {
	line    int
	message string
}

func (f *flaw) Error() string {
	if f.line == 0 {
		return f.message
	}
	return fmt.Sprintf("line %d: %s", f.line, f.message)
}

// parse reads the file name, whose content is data.
func parse(name string, data []byte) ([]schemas.Capability, error) {
	list, err := parseList(strings.EqualFold(filepath.Ext(name), ".json"), data)
	var found *flaw
	switch {
	case errors.As(err, &found) && found.line > 0:
		return nil, fmt.Errorf("%s:%d: %s", name, found.line, found.message)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

func parseList(isJSON bool, data []byte) ([]schemas.Capability, error) {
	read := readYAML
	if isJSON {
		read = readJSON
	}
	root, err := read(data)
	if err != nil {
		return nil, err
	}
	entries, err := entryNodes(root)
	if err != nil {
		return nil, err
	}
	return readEntries(entries)
}

// entryNodes finds the list in the file. An empty one is fine.
func entryNodes(root *yaml.Node) ([]*yaml.Node, error) {
	if root.Kind != yaml.MappingNode {
		return nil, &flaw{root.Line, "the file has a list under capabilities"}
	}
	if err := checkMembers(root, fileMembers); err != nil {
		return nil, err
	}
	list := memberOf(root, "capabilities")
	switch {
	case list == nil:
		return nil, &flaw{root.Line, "the file has a list under capabilities"}
	case list.Kind == yaml.ScalarNode && list.Tag == "!!null":
		return nil, nil
	case list.Kind != yaml.SequenceNode:
		return nil, &flaw{list.Line, "capabilities is a list"}
	}
	return list.Content, nil
}

// readEntries puts the entries together as a dictionary, so that they are checked against each other, and gives them in the order
// of the file.
func readEntries(nodes []*yaml.Node) ([]schemas.Capability, error) {
	d, err := New(nil)
	if err != nil {
		return nil, err
	}
	list := make([]schemas.Capability, 0, len(nodes))
	for _, node := range nodes {
		c, err := readEntry(node)
		if err != nil {
			return nil, err
		}
		if _, found := d.entries[c.ID]; found {
			return nil, &flaw{node.Line, c.ID + " is there twice"}
		}
		if err := d.add(c); err != nil {
			return nil, locate(node, err)
		}
		list = append(list, d.entries[c.ID].Capability)
	}
	return list, nil
}

func readEntry(node *yaml.Node) (schemas.Capability, error) {
	var c schemas.Capability
	if node = target(node); node.Kind != yaml.MappingNode {
		return c, &flaw{node.Line, "an entry is an object with id, input_schema and output_schema"}
	}
	if err := checkMembers(node, entryMembers); err != nil {
		return c, err
	}
	raw, err := toJSON(node)
	if err != nil {
		return c, err
	}
	if err := schemas.Accept(raw, &c); err != nil {
		return c, locate(node, err)
	}
	return c, nil
}

func checkMembers(object *yaml.Node, known []string) error {
	for i := 0; i+1 < len(object.Content); i += 2 {
		key := object.Content[i]
		if slices.Contains(known, key.Value) {
			continue
		}
		message := key.Value + " is not known here"
		if near, found := nearest.Name(key.Value, known); found {
			message += "; did you mean " + near + "?"
		}
		return &flaw{key.Line, message}
	}
	return nil
}

// locate finds the line that an error of this entry is about.
func locate(entry *yaml.Node, err error) error {
	e := schemas.AsError(err)
	var field, pointer, id string
	e.Detail("field", &field)
	e.Detail("pointer", &pointer)
	if node := memberOf(entry, "id"); node != nil {
		id = node.Value + ": "
	}
	message := e.Message
	if pointer != "" || field != "" {
		message = field + ": " + message
	}
	return &flaw{lineOf(entry, field+pointer), id + message}
}
