package protocol

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script is a story of one worker, row by row.
type script struct {
	name string // its first comment
	file string
	rows []row
}

// row is one line: who does what, and a JSON value that goes with it.
type row struct {
	line  int
	words []string
	value any // nil if there is none
}

func (r row) String() string { return fmt.Sprintf("line %d, %s", r.line, strings.Join(r.words, " ")) }

// scripts are all of them.
func scripts(t *testing.T) []script {
	t.Helper()
	files, err := filepath.Glob("*.txt")
	check(t, err)
	var all []script
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		s, err := readScript(file, string(text))
		check(t, err)
		all = append(all, s)
	}
	if len(all) == 0 {
		t.Fatal("there are no scripts")
	}
	return all
}

func readScript(file, text string) (script, error) {
	s := script{file: file}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if comment, found := strings.CutPrefix(line, "#"); found && s.name == "" {
			s.name = strings.TrimRight(strings.TrimSpace(comment), ".")
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := readRow(line)
		if err != nil {
			return s, fmt.Errorf("%s:%d: %w", file, number, err)
		}
		r.line = number
		s.rows = append(s.rows, r)
	}
	return s, nil
}

func readRow(line string) (row, error) {
	words := line
	if at := strings.IndexAny(line, `{["`); at >= 0 {
		words = line[:at]
		value, err := decode([]byte(line[at:]))
		return row{words: strings.Fields(words), value: value}, err
	}
	return row{words: strings.Fields(words)}, nil
}
