package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// ownDisk has the house keep its data in a file system of its own, which stall stops.
func (h *house) ownDisk() {
	h.t.Helper()
	check(h.t, os.MkdirAll(h.data(), 0o700))
	image := filepath.Join(h.dir, "disk")
	check(h.t, os.WriteFile(image, nil, 0o600))
	check(h.t, os.Truncate(image, 64<<20))
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, h.data()}} {
		if said, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			h.t.Skipf("a disk of its own needs the right to mount one: %v: %v: %s", command, err, said)
		}
	}
	h.t.Cleanup(func() {
		h.broker.kill()
		_ = syscall.Unmount(h.data(), syscall.MNT_DETACH)
	})
}

// The requests that freeze a file system, so that all who write to it wait, and let it go on.
const (
	freezeDisk = 0xC0045877
	thawDisk   = 0xC0045878
)

// stall has the disk of the house take nothing for a while.
func (h *house) stall(d time.Duration) {
	h.t.Helper()
	disk, err := os.Open(h.data())
	check(h.t, err)
	defer disk.Close()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, disk.Fd(), freezeDisk, 0); errno != 0 {
		h.t.Skipf("the disk cannot be stopped: %v", errno)
	}
	defer func() { _, _, _ = syscall.Syscall(syscall.SYS_IOCTL, disk.Fd(), thawDisk, 0) }()
	pause(h.t.Context(), d)
}

// The disk of the broker takes nothing for longer than anybody waits, while tasks are ordered and run. What was not answered in
// time was repeated; it is one task. What runs meanwhile runs once.
func TestADiskThatStallsLosesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := emptyHouse(t)
	h.broker = h.program("the broker", "broker", "--data", h.data(), "--nats", address(h.url))
	h.ownDisk()
	h.startBroker()
	h.addDispatcher(h.url).start()
	h.dispatchers[0].until("dispatcher up")
	h.startWorker(child("stats", 4, "echo", "text_stats", "test_run"))
	w := newWitness(t, h.url)
	load := startLoad(h, r, busy())
	pause(t.Context(), 500*time.Millisecond)
	h.stall(3 * time.Second)
	pause(t.Context(), 500*time.Millisecond)
	p := h.prove(w, load.stop())
	p.again()
	for id, task := range p.ended { // the agent and its worker have lived all the time
		if task.State != schemas.StateCompleted || p.effects[id] != 1 {
			t.Errorf("task %s is %s after %d executions: %s", id, task.State, p.effects[id], p.story(id))
		}
	}
}
