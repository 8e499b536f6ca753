package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

const composeFile = root + "/docker-compose.yml"

// compose is docker-compose.yml as docker compose reads it.
func compose(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{composeFile})
	check(t, err)
	project, err := options.LoadProject(t.Context())
	check(t, err)
	return project
}

func TestTheComposeFileHasAClusterOfEachKind(t *testing.T) {
	t.Parallel()
	roles := make(map[string]int)
	for _, s := range compose(t).Services {
		if len(s.Entrypoint) == 0 {
			roles[s.Command[0]]++
		}
	}
	for role, want := range map[string]int{"broker": 3, "dispatcher": 2, "worker": 2} {
		if roles[role] != want {
			t.Errorf("%d services are a %s, want %d", roles[role], role, want)
		}
	}
}

func TestEveryServiceIsConfined(t *testing.T) {
	t.Parallel()
	for name, s := range compose(t).Services {
		weak := !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt, "no-new-privileges:true")
		if weak || s.Privileged || !s.ReadOnly {
			t.Errorf("%s may do more than it needs", name)
		}
		if s.HealthCheck == nil || s.HealthCheck.Test[0] != "CMD" || s.HealthCheck.Test[1] != "/reach" {
			t.Errorf("%s is not asked by reach whether it is well", name)
		}
		if s.Restart != "unless-stopped" {
			t.Errorf("%s is not started again", name)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes port %d on %q, want the loopback interface", name, port.Target, port.HostIP)
			}
		}
	}
}

func TestPublishedPortsDoNotClash(t *testing.T) {
	t.Parallel()
	taken := make(map[string]string)
	for name, s := range compose(t).Services {
		for _, port := range s.Ports {
			if other := taken[port.Published]; other != "" {
				t.Errorf("%s and %s publish port %s", name, other, port.Published)
			}
			taken[port.Published] = name
		}
	}
	for _, port := range []string{"4222", "8500"} {
		if taken[port] == "" {
			t.Errorf("nobody is at the usual port %s", port)
		}
	}
}

func TestTheImageIsBuiltOnceAndNeverPulled(t *testing.T) {
	t.Parallel()
	_, stages := dockerfile(t)
	builds := 0
	for name, s := range compose(t).Services {
		if s.Build == nil {
			if s.PullPolicy != types.PullPolicyNever {
				t.Errorf("%s may pull its image", name)
			}
			continue
		}
		builds++
		if !slices.Contains(stages, s.Build.Target) {
			t.Errorf("%s is built from the stage %q, which is not in the Dockerfile", name, s.Build.Target)
		}
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
	}
	if builds != 1 {
		t.Errorf("%d services build the image", builds)
	}
}

func TestReferencedFilesExist(t *testing.T) {
	t.Parallel()
	project := compose(t)
	for name, config := range project.Configs {
		if _, err := os.Stat(config.File); err != nil {
			t.Errorf("config %s: %v", name, err)
		}
	}
	script := madeSecrets(t)
	for name, secret := range project.Secrets {
		inside, err := filepath.Rel(filepath.Join(project.WorkingDir, "scripts", "compose"), secret.File)
		check(t, err)
		content, err := os.ReadFile(filepath.Join(script, inside))
		if err != nil || len(content) < 32 || strings.ContainsAny(string(content), " \n") {
			t.Errorf("secret %s is not one after make secrets: %d bytes (%v)", name, len(content), err)
		}
		if said, err := exec.Command("git", "-C", project.WorkingDir, "check-ignore", secret.File).CombinedOutput(); err != nil {
			t.Errorf("git does not ignore secret %s: %v %s", name, err, said)
		}
	}
}

// madeSecrets is a folder in which the script has run, twice: the second time changes nothing.
func madeSecrets(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(root, "scripts", "compose", "make-secrets"))
	check(t, err)
	dir := t.TempDir()
	copied := filepath.Join(dir, "make-secrets")
	check(t, os.WriteFile(copied, script, 0o600))
	var before []byte
	for range 2 {
		if said, err := exec.Command("bash", copied).CombinedOutput(); err != nil {
			t.Fatalf("make-secrets: %v\n%s", err, said)
		}
		after, err := os.ReadFile(filepath.Join(dir, "secrets", "cluster-password"))
		check(t, err)
		if before != nil && string(before) != string(after) {
			t.Error("the second run made another secret")
		}
		before = after
	}
	return dir
}
