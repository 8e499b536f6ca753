package subprocess

import (
	"errors"
	"fmt"

	"github.com/google/shlex"
)

// Split cuts a command line into the words that a shell would see: blanks part them, quotes and backslashes keep them together.
// Nothing is expanded and nothing is run.
func Split(command string) ([]string, error) {
	words, err := shlex.Split(command)
	if err != nil {
		return nil, fmt.Errorf("split command: a quote or a backslash is left open: %w", err)
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("split command: there is no program in it")
	}
	return words, nil
}
