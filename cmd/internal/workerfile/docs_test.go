package workerfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheExampleOfTheDocumentationIsTaken(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "## worker.yaml")
	_, example, _ := strings.Cut(section, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	withAll := strings.NewReplacer("# journal", "journal", "# headers", "headers", "# dir", "dir", "# env", "env").Replace(example)
	for _, variant := range []string{example, withAll} {
		file, _, err := read(t, variant)
		if err != nil {
			t.Fatal(err)
		}
		if len(file.Agents) != 2 {
			t.Errorf("got %d agents", len(file.Agents))
		}
	}
}
