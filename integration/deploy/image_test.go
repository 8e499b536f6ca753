package deploy

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// instruction is one of a Dockerfile.
type instruction struct {
	stage, word string
	args        []string
}

// dockerfile reads the instructions of the Dockerfile, and the stages that may be built.
func dockerfile(t *testing.T) (instructions []instruction, stages []string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	check(t, err)
	stage := ""
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if words[0] == "FROM" {
			stage = words[len(words)-1]
			stages = append(stages, stage)
		}
		instructions = append(instructions, instruction{stage, words[0], words[1:]})
	}
	return instructions, stages
}

func TestTheImageIsBuiltOnNothing(t *testing.T) {
	t.Parallel()
	instructions, stages := dockerfile(t)
	allowed := map[string]bool{"scratch": true, "${GOLANG}": true, "${FILES}": true}
	for _, i := range instructions {
		switch i.word {
		case "FROM":
			if !allowed[i.args[0]] {
				t.Errorf("stage %s is built on %s", i.stage, i.args[0])
			}
			allowed[i.stage] = true
		case "USER":
			uid, err := strconv.Atoi(strings.Split(i.args[0], ":")[0])
			if err != nil || uid == 0 {
				t.Errorf("stage %s runs as %s, want a number that is not root's", i.stage, i.args[0])
			}
		}
	}
	if last := stages[len(stages)-1]; last != "reach" {
		t.Errorf("docker build makes %s where no target is named, want reach", last)
	}
}

func TestTheImageHasWhatItCopies(t *testing.T) {
	t.Parallel()
	files := imageFiles(t)
	instructions, _ := dockerfile(t)
	copied := 0
	for _, i := range instructions {
		if i.word != "COPY" || i.args[0] != "--from=files" {
			continue
		}
		copied++
		from := i.args[len(i.args)-2]
		inside, found := strings.CutPrefix(from, "/src/bin/image/")
		if _, err := os.Stat(filepath.Join(files, inside)); err != nil || !found {
			t.Errorf("stage %s copies %s: %v", i.stage, from, err)
		}
	}
	if copied == 0 {
		t.Error("nothing is copied into the image")
	}
}

func TestTheImageCarriesItsLicences(t *testing.T) {
	t.Parallel()
	files := imageFiles(t)
	notice, err := os.ReadFile(filepath.Join(files, "licenses", "NOTICE"))
	check(t, err)
	for _, part := range []string{
		"github.com/agentreach/agent-reach (", "github.com/nats-io/nats-server/v2 ", "github.com/spf13/cobra ", "go go1.",
	} {
		if !strings.Contains(string(notice), "\n"+part) {
			t.Errorf("%s is not in the notice", part)
		}
	}
	if strings.Contains(string(notice), "compose-go") {
		t.Error("the notice names what is not linked")
	}
	_, err = os.Stat(filepath.Join(files, "licenses", "github.com", "nats-io", "nats-server", "v2", "LICENSE"))
	check(t, err)
}

func TestTheProgramsAreStatic(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the image is one for Linux")
	}
	for _, name := range []string{"reach", "agents/summarize", "agents/reviewdiff"} {
		file, err := elf.Open(filepath.Join(imageFiles(t), name))
		check(t, err)
		for _, segment := range file.Progs {
			if segment.Type == elf.PT_INTERP {
				t.Errorf("%s needs a dynamic linker", name)
			}
		}
		check(t, file.Close())
	}
}

const nobody = 65532

// TestItRunsInAnEmptyRoot does what a container does, as far as one can without one: a root folder that holds the image's files
// alone, and a user whom nobody knows.
func TestItRunsInAnEmptyRoot(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root may change the root folder")
	}
	image := t.TempDir()
	check(t, os.CopyFS(image, os.DirFS(imageFiles(t))))
	check(t, os.Chmod(image, 0o755))
	check(t, os.Chmod(filepath.Dir(image), 0o755))
	check(t, os.Chown(filepath.Join(image, "data"), nobody, nobody))
	inside := func(args ...string) *exec.Cmd {
		command := exec.Command("/reach", args...)
		command.Env, command.Dir = []string{"PATH=/"}, "/data"
		command.SysProcAttr = &syscall.SysProcAttr{
			Chroot: image, Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true},
		}
		return command
	}
	said, err := inside("version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), "reach 9.8.7 ") {
		t.Fatalf("reach version: %v\n%s", err, said)
	}

	var log strings.Builder
	up := inside("up", "--data", "/data", "--http", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	up.Stderr = &log
	check(t, up.Start())
	endpoints := filepath.Join(image, "data", "endpoints.json")
	await(t, "reach up", func() bool { _, err := os.Stat(endpoints); return err == nil })
	content, err := os.ReadFile(endpoints)
	check(t, err)
	for _, url := range regexp.MustCompile(`(http|nats)://[0-9.:]+`).FindAllString(string(content), -1) {
		if said, err := inside("health", url).CombinedOutput(); err != nil {
			t.Errorf("reach health %s: %v\n%s", url, err, said)
		}
	}
	check(t, up.Process.Signal(syscall.SIGTERM))
	if err := up.Wait(); err != nil {
		t.Errorf("reach up ended with %v\n%s", err, log.String())
	}
}

// await polls until something is so.
func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(60 * time.Second); !so(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: too long", what)
		}
	}
}
