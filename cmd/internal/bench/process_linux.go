package bench

import "syscall"

// detached keeps a terminal's Ctrl-C from the processes, which are told to end in their order, and ends them with this one if that
// is killed.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
