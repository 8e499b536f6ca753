package config

import (
	"os"
	"regexp"
	"testing"

	"github.com/spf13/pflag"
)

func TestEveryKeyHasOneVariableAndAHelpText(t *testing.T) {
	t.Parallel()
	grammar := regexp.MustCompile(`^[a-z]+(\.[a-z][a-z_]*)+$`)
	seen := make(map[string]string)
	set := keys(&Config{})
	set.VisitAll(func(f *pflag.Flag) {
		if !grammar.MatchString(f.Name) || f.Usage == "" {
			t.Errorf("%q, %q", f.Name, f.Usage)
		}
		if other, found := seen[envName(f.Name)]; found {
			t.Errorf("%s and %s share %s", f.Name, other, envName(f.Name))
		}
		seen[envName(f.Name)] = f.Name
	})
	for name, key := range otherNames {
		if set.Lookup(key) == nil {
			t.Errorf("%s is about no key", name)
		}
	}
	for name := range paths {
		if set.Lookup(name) == nil {
			t.Errorf("%s is no key", name)
		}
	}
}

func TestDefaultsPassTheCheck(t *testing.T) {
	t.Parallel()
	if _, err := Load(Sources{}); err != nil {
		t.Error(err)
	}
}

func FuzzFile(f *testing.F) {
	f.Add("server:\n  port: 8500\nrouter: {score_weights: {version_penalty: 0.1}}\ndictionary: {files: [a, b]}\n")
	f.Add("a: &a {b: *a}\nserver: *a\n")
	f.Add("---\n...\n")
	f.Fuzz(func(t *testing.T, content string) {
		path := t.TempDir() + "/reach.yaml"
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := Load(Sources{File: path}); err == nil {
			s.Items()
		}
	})
}
