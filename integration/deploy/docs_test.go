package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	clusterCommand = regexp.MustCompile(`(?m)^\$ reach (broker|dispatcher|worker) ((?:.*\\\n)*.*)$`)
	aFlag          = regexp.MustCompile(`(?:^|\s)-{1,2}([a-z-]+)`)
)

// TestTheClusterOfTheDocumentationIsTheOneThatIsRun demands of the commands with which docs/operations.md makes a cluster of machines that a
// service of the compose file has each of their flags: those services are what the tests of this package start and kill.
func TestTheClusterOfTheDocumentationIsTheOneThatIsRun(t *testing.T) {
	t.Parallel()
	run := make(map[string][]string) // the flags of each role
	for _, s := range compose(t).Services {
		if len(s.Entrypoint) == 0 {
			run[s.Command[0]] = append(run[s.Command[0]], flags(strings.Join(s.Command, " "))...)
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	check(t, err)
	_, section, _ := strings.Cut(string(page), "\n## A cluster of reach brokers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	found := make(map[string]bool)
	for _, command := range clusterCommand.FindAllStringSubmatch(section, -1) {
		role := command[1]
		found[role] = true
		for _, flag := range flags(command[2]) {
			if !slices.Contains(run[role], flag) {
				t.Errorf("no %s is run with --%s", role, flag)
			}
		}
	}
	if len(found) != 3 {
		t.Errorf("the page has commands of %v alone", found)
	}
}

// flags are the names of the flags of a command line.
func flags(commandLine string) (names []string) {
	for _, flag := range aFlag.FindAllStringSubmatch(commandLine, -1) {
		names = append(names, flag[1])
	}
	return names
}
