//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a program into a group of its own. It outlives a worker that is killed.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitEnd returns when the program has ended, and has reaped it: for a moment the number of its group may be another's.
func awaitEnd(cmd *exec.Cmd) { _ = cmd.Wait() }
