package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// legal are the files of a module that must be passed on with it.
var legal = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents|copyright)([-._].*)?$`)

// collect copies the legal files of each module into a folder of its own, and writes a list of all: NOTICE.
func collect(out string, linked []module) error {
	var notice strings.Builder
	notice.WriteString("This folder has the licences and notices of all that is linked into the programs beside it:\n\n")
	for _, m := range linked {
		name := filepath.FromSlash(m.Path)
		files, err := copyLegal(m, filepath.Join(out, name))
		if err != nil {
			return fmt.Errorf("module %s: %w", m.Path, err)
		}
		_, _ = fmt.Fprintf(&notice, "%s %s: %s\n", m.Path, cmp.Or(m.Version, "(this repository)"), strings.Join(files, ", "))
	}
	return os.WriteFile(filepath.Join(out, "NOTICE"), []byte(notice.String()), 0o644)
}

// copyLegal copies what lies beside the linked packages of a module and above them, up to its top, and names it.
func copyLegal(m module, to string) ([]string, error) {
	var names []string
	for _, dir := range m.folders() {
		entries, err := os.ReadDir(filepath.Join(m.Dir, dir))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if entry.IsDir() || !legal.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
				continue
			}
			name := filepath.Join(dir, entry.Name())
			if err := copyFile(filepath.Join(m.Dir, name), filepath.Join(to, name)); err != nil {
				return nil, err
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("it has no licence in %s", m.Dir)
	}
	return names, nil
}

// folders are those of the linked packages and all above them, relative to the module and each once.
func (m module) folders() []string {
	seen := make(map[string]bool)
	for _, dir := range m.linked {
		inside, err := filepath.Rel(m.Dir, dir)
		if err != nil {
			continue
		}
		for ; !seen[inside]; inside = filepath.Dir(inside) {
			seen[inside] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
