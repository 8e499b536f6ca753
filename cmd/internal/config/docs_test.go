package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		_, row, found := strings.Cut(text, "`"+f.Name+"`")
		row, _, _ = strings.Cut(row, "\n")
		if !found {
			t.Errorf("%s is not in docs/configuration.md", f.Name)
		}
		if note := unused[f.Name]; note != "" && !strings.Contains(row, "not used yet") {
			t.Errorf("%s: docs/configuration.md does not say that it is not used", f.Name)
		}
	})
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
