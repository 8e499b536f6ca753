package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
)

// module is a part of a program that has a licence of its own.
type module struct {
	Path, Version string
	Dir           string   // where its files are
	linked        []string // the folders of its packages that are linked
}

// linkedModules are the modules of all packages that the programs are built of, the main one and Go itself included, by path.
func linkedModules(packages []string) ([]module, error) {
	if len(packages) == 0 {
		return nil, errors.New("name the programs, such as ./cmd/reach")
	}
	command := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,Module"}, packages...)...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // as the binaries are built
	command.Stderr = os.Stderr
	listed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list what is linked: %w", err)
	}
	linked, err := readModules(listed)
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	dir := string(bytes.TrimSpace(root))
	return append(linked, module{Path: "go", Version: runtime.Version(), Dir: dir, linked: []string{dir}}), nil
}

// readModules reads what go list says of packages; those of the standard library have no module.
func readModules(listed []byte) ([]module, error) {
	seen := make(map[string]*module)
	for decoder := json.NewDecoder(bytes.NewReader(listed)); ; {
		var pkg struct {
			Dir    string
			Module *module
		}
		err := decoder.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read what is linked: %w", err)
		}
		if pkg.Module == nil {
			continue
		}
		if seen[pkg.Module.Path] == nil {
			seen[pkg.Module.Path] = pkg.Module
		}
		m := seen[pkg.Module.Path]
		m.linked = append(m.linked, pkg.Dir)
	}
	var linked []module
	for _, m := range seen {
		linked = append(linked, *m)
	}
	slices.SortFunc(linked, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return linked, nil
}
