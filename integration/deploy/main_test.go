package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

const root = "../.."

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if built.dir != "" {
			_ = os.RemoveAll(built.dir) // a temporary folder that stays harms nobody
		}
		os.Exit(code)
	}))
}

// built is what the tests of this package share: the files of the image, laid out as for the image itself.
var built struct {
	once     sync.Once
	dir      string
	problem  error
	problems []byte
}

// imageFiles is the folder that becomes the image.
func imageFiles(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		built.dir, built.problem = os.MkdirTemp("", "reach-deploy-")
		if built.problem == nil {
			command := exec.Command("make", "image-files", "VERSION=9.8.7", "IMAGE_FILES="+filepath.Join(built.dir, "image"))
			command.Dir = root
			built.problems, built.problem = command.CombinedOutput()
		}
	})
	if built.problem != nil {
		t.Fatalf("make image-files: %v\n%s", built.problem, built.problems)
	}
	return filepath.Join(built.dir, "image")
}

// programs is a folder with every program of the image, and the one that runs the cluster.
func programs(t *testing.T) string {
	t.Helper()
	files, dir := imageFiles(t), t.TempDir()
	for _, name := range []string{"reach", "agents/summarize", "agents/reviewdiff"} {
		if err := os.Symlink(filepath.Join(files, name), filepath.Join(dir, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "build", "-o", dir, "./scripts/cluster")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the cluster: %v\n%s", err, said)
	}
	return dir
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
