package integration

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"
)

// The checker must be able to fail: each archive of testdata/floors is an invented tree that breaks a rule, beside what is easily
// taken for a breach. Its last file, violations, says what is to be found.
func TestFloorsOnInventedTrees(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/floors/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no invented trees: %v", err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSpace(string(archive.Comment)), func(t *testing.T) {
			t.Parallel()
			tree, want := invented(archive)
			sources, err := readSources(tree)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, violations(sources), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: violations (-want +got):\n%s", name, diff)
			}
		})
	}
}

func invented(archive *txtar.Archive) (tree fstest.MapFS, want []string) {
	tree = fstest.MapFS{}
	for _, file := range archive.Files {
		if file.Name == "violations" {
			want = strings.FieldsFunc(string(file.Data), func(r rune) bool { return r == '\n' })
			continue
		}
		tree[file.Name] = &fstest.MapFile{Data: file.Data}
	}
	return tree, want
}

func TestFloorsFoldersOnAnInventedRoot(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"broker/a.go": {}, "pkg/a.go": {}, ".git/config": {}, "bin/reach": {}, "reach-data/x": {}, "go.mod": {}, "docs/a.md": {},
	}
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pkg: is no folder of the house, which are broker, dispatcher, worker, schemas, cmd, scripts, integration, docs; " +
			"move its files into one of them",
	}
	if diff := cmp.Diff(want, folderViolations(entries)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
