package adaptertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// stock is what a process has: its goroutines, its open files, and its children. The last two are known on Linux alone.
type stock struct {
	goroutines goleak.Option
	files      []string
	children   []string
}

func takeStock() stock {
	return stock{goroutines: goleak.IgnoreCurrent(), files: openFiles(), children: Children()}
}

// restored waits until there is no more than there was.
func (s stock) restored(t *testing.T) {
	t.Helper()
	var left []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if left = append(added(s.files, openFiles()), added(s.children, Children())...); len(left) == 0 {
			break
		}
	}
	for _, one := range left {
		t.Errorf("left behind: %s", one)
	}
	if err := goleak.Find(s.goroutines); err != nil {
		t.Errorf("left behind: %v", err)
	}
}

// openFiles are this process's: sockets, pipes, and files by their names. What the runtime keeps for all of them does not count.
func openFiles() []string {
	links, _ := filepath.Glob("/proc/self/fd/*")
	var open []string
	for _, link := range links {
		name, err := os.Readlink(link)
		if err != nil || strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, "anon_inode:[event") {
			continue
		}
		open = append(open, "file "+name)
	}
	return open
}

// Children are the processes that this one has started and that are still there, or not waited for.
func Children() []string {
	threads, _ := filepath.Glob("/proc/self/task/*/children")
	var all []string
	for _, thread := range threads {
		numbers, _ := os.ReadFile(thread)
		for _, number := range strings.Fields(string(numbers)) {
			all = append(all, fmt.Sprintf("process %s", number))
		}
	}
	return all
}

// added is what is in now and was not before.
func added(before, now []string) []string {
	return slices.DeleteFunc(now, func(one string) bool { return slices.Contains(before, one) })
}
