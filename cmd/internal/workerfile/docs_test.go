package workerfile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
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

// TestTheAgentsOfTheDocumentationAreTaken reads every file on the page of the adapters, with and without what is left out of it.
func TestTheAgentsOfTheDocumentationAreTaken(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "adapters.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(content), "```yaml\n")[1:]
	seen := make(map[string]bool)
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		for _, variant := range []string{example, spoken(example)} {
			file, _, err := read(t, variant)
			if err != nil {
				t.Errorf("%v in\n%s", err, variant)
				continue
			}
			seen[file.Agents[0].Transport.Type] = true
		}
	}
	if len(seen) != len(workerfile.Types()) {
		t.Errorf("the page has examples of %v alone", seen)
	}
}

// spoken is an example with its keys that are comments as keys.
func spoken(example string) string {
	keys := regexp.MustCompile(`(?m)^( +)# ([a-z0-9_]+: )`)
	return strings.ReplaceAll(keys.ReplaceAllString(example, "$1$2"), "capabilities: without", "# ")
}
