package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatMustBePassedOn(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"LICENSE": true, "LICENCE.md": true, "license.txt": true, "LICENSE-MIT": true, "COPYING": true, "NOTICE": true, "PATENTS": true,
		"UNLICENSE": true, "README.md": false, "licensed": false, "doc.go": false,
	} {
		if got := legal.MatchString(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

const listed = `{"Dir": "/go/fmt"}
{"Dir": "/m/b/x/y", "Module": {"Path": "b", "Version": "v1.0.0", "Dir": "/m/b"}}
{"Dir": "/m/b", "Module": {"Path": "b", "Version": "v1.0.0", "Dir": "/m/b"}}
{"Dir": "/m/a", "Module": {"Path": "a", "Dir": "/m/a"}}`

func TestModulesAreThoseOfLinkedPackages(t *testing.T) {
	t.Parallel()
	got, err := readModules([]byte(listed))
	if err != nil {
		t.Fatal(err)
	}
	want := []module{
		{Path: "a", Dir: "/m/a", linked: []string{"/m/a"}},
		{Path: "b", Version: "v1.0.0", Dir: "/m/b", linked: []string{"/m/b/x/y", "/m/b"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(module{})); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{".", "x", "x/y"}, got[1].folders()); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

func TestCollectTakesTheLicencesOfPartsToo(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	for _, name := range []string{"LICENSE", "x/LICENSE.txt", "x/y/code.go", "other/LICENSE"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := module{Path: "example.org/b", Version: "v1.0.0", Dir: dir, linked: []string{filepath.Join(dir, "x", "y")}}
	if err := collect(out, []module{m}); err != nil {
		t.Fatal(err)
	}
	notice, err := os.ReadFile(filepath.Join(out, "NOTICE"))
	if err != nil || !strings.Contains(string(notice), "example.org/b v1.0.0: LICENSE, x/LICENSE.txt\n") {
		t.Errorf("NOTICE is %q (%v)", notice, err)
	}
	if _, err := os.Stat(filepath.Join(out, "example.org/b/x/LICENSE.txt")); err != nil {
		t.Error(err)
	}
}

func TestAModuleWithoutALicenceIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := collect(t.TempDir(), []module{{Path: "example.org/bare", Dir: dir, linked: []string{dir}}})
	if err == nil || !strings.Contains(err.Error(), "example.org/bare: it has no licence") {
		t.Errorf("got %v", err)
	}
}
