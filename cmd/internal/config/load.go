package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/schemas/smallfile"
)

// Setting is one key as a source gives it. Source says where: a file and line, a variable, a flag.
type Setting struct {
	Key, Source string
	Values      []string // one, but for lists
}

// Sources are where settings come from, the weakest first.
type Sources struct {
	File    string   // path of a YAML file; empty: none
	Environ []string // NAME=value, as of os.Environ
	Flags   []Setting
}

// Settings are the effective configuration, and where each value came from.
type Settings struct {
	Config

	set     *pflag.FlagSet
	sources map[string]string
}

// Load reads all sources, applies them in order and checks the whole. Its error names every problem found, each with its source.
func Load(from Sources) (*Settings, error) {
	s, err := Inspect(from)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Inspect is Load for whoever looks for further problems: there are settings beside an error, too. What could not be read has its default.
func Inspect(from Sources) (*Settings, error) {
	s := &Settings{sources: make(map[string]string)}
	s.set = keys(&s.Config)
	file, err := readFile(from.File, s.set)
	problems := []error{err}
	unread := make(map[string]bool)
	for _, setting := range append(append(file, environ(from.Environ, s.set)...), from.Flags...) {
		if err := s.apply(setting); err != nil {
			problems = append(problems, err)
			unread[setting.Key] = true
		}
	}
	return s, errors.Join(append(problems, s.check(unread))...)
}

func (s *Settings) apply(setting Setting) error {
	f := s.set.Lookup(setting.Key)
	if err := assign(f.Value, setting.Values); err != nil {
		return fmt.Errorf("%s: %s takes %s", setting.Source, setting.Key, article(f.Value.Type()))
	}
	s.sources[setting.Key] = setting.Source
	return nil
}

// assign never lets an error of a value out, since that would quote it.
func assign(value pflag.Value, texts []string) error {
	if list, ok := value.(pflag.SliceValue); ok {
		return list.Replace(texts)
	}
	if len(texts) != 1 {
		return errors.New("not one value")
	}
	return value.Set(texts[0])
}

// article says in words what a type of value looks like.
func article(kind string) string {
	switch kind {
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 15s or 250ms"
	case "stringSlice":
		return "a list"
	}
	return "one text"
}

// environ is what the environment says of the known keys. An empty variable counts as unset. REACH_DEBUG is log.level debug.
func environ(environ []string, set *pflag.FlagSet) []Setting {
	values := make(map[string]string, len(environ))
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	var settings []Setting
	lookup := func(name, key string) {
		if value := values[name]; value != "" {
			settings = append(settings, Setting{Key: key, Source: name, Values: split(set.Lookup(key), value)})
		}
	}
	set.VisitAll(func(f *pflag.Flag) { lookup(envName(f.Name), f.Name) })
	for other, key := range otherNames {
		lookup(envName(other), key)
	}
	if Debug(values["REACH_DEBUG"]) {
		settings = append(settings, Setting{Key: "log.level", Source: "REACH_DEBUG", Values: []string{"debug"}})
	}
	return settings
}

func split(f *pflag.Flag, value string) []string {
	if _, list := f.Value.(pflag.SliceValue); list {
		return strings.Split(value, ",")
	}
	return []string{value}
}

// Debug is whether a value of REACH_DEBUG turns debugging on.
func Debug(value string) bool {
	return value != "" && value != "0" && !strings.EqualFold(value, "false")
}

// Given is whether any source but the default named the key.
func (s *Settings) Given(key string) bool { return s.Source(key) != fromDefault }

const fromDefault = "default"

// Source is where a setting came from; for a section, where the first of its settings that was given did.
func (s *Settings) Source(key string) string {
	source := fromDefault
	s.set.VisitAll(func(f *pflag.Flag) {
		given, found := s.sources[f.Name]
		if found && source == fromDefault && (f.Name == key || strings.HasPrefix(f.Name, key+".")) {
			source = given
		}
	})
	return source
}

// Secret is the content of a *_file setting, without the line end; empty for an empty path.
func Secret(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	content, err := smallfile.Read(path, smallfile.Secret)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	return strings.TrimRight(string(content), "\r\n"), nil
}
