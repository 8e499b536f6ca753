//go:build !unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// Without process groups only the program itself can be ended, and only by force.
func ownGroup() *syscall.SysProcAttr { return nil }

func awaitEnd(cmd *exec.Cmd) { _ = cmd.Wait() }

func terminateGroup(p *os.Process) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }

func signalOf(*os.ProcessState) int { return 0 }
