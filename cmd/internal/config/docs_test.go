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
		if !strings.Contains(text, "`"+f.Name+"`") {
			t.Errorf("%s is not in docs/configuration.md", f.Name)
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
