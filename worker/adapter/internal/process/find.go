package process

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Find is the program's path. One with a slash in it is taken from dir, as the program itself would see it.
func Find(program, dir string) (string, error) {
	if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
		absolute, err := filepath.Abs(filepath.Join(dir, program))
		if err != nil {
			return "", fmt.Errorf("find %s: %w", program, err)
		}
		program = absolute
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", program, err)
	}
	return found, nil
}
