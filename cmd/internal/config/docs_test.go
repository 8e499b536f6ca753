package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestTheDocumentationNamesEverySetting(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	keys(&Config{}).VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(text, "`"+f.Name+"`") {
			t.Errorf("%s is not in docs/configuration.md", f.Name)
		}
	})
}

// row is a line of the table of settings: what stands in backquotes in its first column are keys, in its second their defaults. One default
// may stand for all keys of its line.
var row = regexp.MustCompile("(?m)^\\| (`[a-z_., `]+) \\| ([^|]*) \\|")

func TestTheDocumentationHasEveryDefault(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	stated := make(map[string]string)
	for _, line := range row.FindAllStringSubmatch(string(content), -1) {
		names, defaults := quoted(line[1]), quoted(line[2])
		for i, name := range names {
			if len(defaults) > 0 {
				stated[name] = defaults[min(i, len(defaults)-1)]
			}
		}
	}
	keys(&Config{}).VisitAll(func(f *pflag.Flag) {
		if text := stated[f.Name]; !isDefault(f, text) {
			t.Errorf("%s is %q, and stands as %q in docs/configuration.md", f.Name, f.DefValue, text)
		}
	})
}

func quoted(text string) (words []string) {
	for i, word := range strings.Split(text, "`") {
		if i%2 == 1 {
			words = append(words, word)
		}
	}
	return words
}

// isDefault reads a text as people write defaults: 24h for 24h0m0s, nothing for an empty list.
func isDefault(f *pflag.Flag, text string) bool {
	span, err := time.ParseDuration(text)
	switch f.Value.Type() {
	case "duration":
		return err == nil && span.String() == f.DefValue
	case "stringSlice":
		return text == "" && f.DefValue == "[]"
	}
	return text == f.DefValue
}

func TestTheExampleOfTheDocumentationLoads(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(content), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	path := filepath.Join(t.TempDir(), "reach.yaml")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Sources{File: path}); err != nil {
		t.Error(err)
	}
}
