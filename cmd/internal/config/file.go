package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/agentreach/agent-reach/schemas/nearest"
	"github.com/agentreach/agent-reach/schemas/smallfile"
)

// DefaultFile is read where no file is named and it exists.
const DefaultFile = "reach.yaml"

// readFile is what a YAML file says. All its problems are in the error, each with its line.
func readFile(path string, set *pflag.FlagSet) ([]Setting, error) {
	if path == "" {
		return nil, nil
	}
	content, err := smallfile.Read(path, smallfile.Text)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	root, err := parse(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := reader{path: path, set: set, seen: make(map[string]bool)}
	r.section("", root)
	return r.settings, errors.Join(r.problems...)
}

// parse is the one document of a file; nil if it holds none.
func parse(file io.Reader) (*yaml.Node, error) {
	dec := yaml.NewDecoder(file)
	var document, more yaml.Node
	if err := dec.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	return document.Content[0], nil
}

// mostProblems are told of a file. Where there are more, it is another kind of file.
const mostProblems = 20

// reader walks a file and collects.
type reader struct {
	path     string
	set      *pflag.FlagSet
	seen     map[string]bool
	settings []Setting
	problems []error
}

func (r *reader) fail(node *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %s", r.path, node.Line, fmt.Sprintf(format, args...)))
}

func (r *reader) section(prefix string, node *yaml.Node) {
	node = resolve(node)
	if node == nil || node.Tag == "!!null" {
		return
	}
	if node.Kind != yaml.MappingNode {
		r.fail(node, "%s is not a list of keys", cmp.Or(strings.TrimSuffix(prefix, "."), "the file"))
		return
	}
	for i := 0; i+1 < len(node.Content) && len(r.problems) < mostProblems; i += 2 {
		r.key(prefix+node.Content[i].Value, node.Content[i], node.Content[i+1])
	}
}

func (r *reader) key(name string, at, value *yaml.Node) {
	if key, found := otherNames[name]; found {
		name = key
	}
	switch {
	case r.seen[name]:
		r.fail(at, "%s is there twice", name)
	case r.set.Lookup(name) != nil:
		r.value(name, at, value)
	case r.isSection(name):
		r.section(name+".", value)
	default:
		r.fail(at, "%s", r.unknown(name))
	}
	r.seen[name] = true
}

func (r *reader) isSection(name string) bool {
	found := false
	r.set.VisitAll(func(f *pflag.Flag) { found = found || strings.HasPrefix(f.Name, name+".") })
	return found
}

func (r *reader) unknown(name string) string {
	var known []string
	r.set.VisitAll(func(f *pflag.Flag) { known = append(known, sections(f.Name)...) })
	if near, ok := nearest.Name(name, known); ok {
		return fmt.Sprintf("%q is not a setting; did you mean %q?", name, near)
	}
	return fmt.Sprintf("%q is not a setting; `reach config print` lists all", name)
}

// sections are a key and every section that it is in.
func sections(key string) []string {
	names := []string{key}
	for i := strings.LastIndex(key, "."); i >= 0; i = strings.LastIndex(key[:i], ".") {
		names = append(names, key[:i])
	}
	return names
}

// value takes one setting; an empty one, as after a bare "key:", leaves it as it is.
func (r *reader) value(name string, at, node *yaml.Node) {
	node = resolve(node)
	if node.Tag == "!!null" {
		return
	}
	value := r.set.Lookup(name).Value
	values, ok := scalars(node)
	if _, list := value.(pflag.SliceValue); !ok || node.Kind == yaml.SequenceNode && !list {
		r.fail(at, "%s takes %s", name, article(value.Type()))
		return
	}
	if paths[name] {
		values = r.relative(values)
	}
	source := fmt.Sprintf("%s:%d", r.path, at.Line)
	r.settings = append(r.settings, Setting{Key: name, Source: source, Values: values})
}

func (r *reader) relative(values []string) []string {
	for i, value := range values {
		if value != "" && !filepath.IsAbs(value) {
			values[i] = filepath.Join(filepath.Dir(r.path), value)
		}
	}
	return values
}

func scalars(node *yaml.Node) ([]string, bool) {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}, true
	}
	values := []string{}
	for _, item := range node.Content {
		if item = resolve(item); node.Kind != yaml.SequenceNode || item.Kind != yaml.ScalarNode {
			return nil, false
		}
		values = append(values, item.Value)
	}
	return values, node.Kind == yaml.SequenceNode
}

func resolve(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
