package outfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func said(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestAFileHasItsNameOnceItIsWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"new", "replaced"} {
		if err := Write(path, said(text)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	cut := errors.New("cut off")
	err := Write(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "ha")
		return cut
	})
	if !errors.Is(err, cut) || content(t, path) != "replaced" {
		t.Errorf("after a write that failed with %v: %q", err, content(t, path))
	}
	if beside, _ := os.ReadDir(filepath.Dir(path)); len(beside) != 1 {
		t.Errorf("%d files are left", len(beside))
	}
}

func TestALinkStaysALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Symlink("target", link)); err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{true, false} {
		if !there {
			_ = os.Remove(target)
		}
		if err := Write(link, said("x")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(link)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 || content(t, target) != "x" {
			t.Errorf("with a target before, %v: the link is %v, %v; its target %q", there, info.Mode(), err, content(t, target))
		}
	}
}

func TestWhatIsNoFileIsWrittenIntoAndStays(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 1)
	go func() {
		got, _ := os.ReadFile(pipe)
		heard <- string(got)
	}()
	if err := Write(pipe, said("through")); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "through" {
		t.Errorf("got %q", got)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info.Mode(), err)
	}
}

func TestWhatCannotBeWrittenIsNamedAsItWasGiven(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := []struct{ name, path, want string }{
		{"a folder", dir, "it is a folder"},
		{"a file in a folder that is not there", filepath.Join(dir, "no", "file"), filepath.Join(dir, "no", "file") + ": no such file or directory"},
		{"a file below a file", filepath.Join(os.Args[0], "file"), filepath.Join(os.Args[0], "file") + ": not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := Write(tt.path, said("x")); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
