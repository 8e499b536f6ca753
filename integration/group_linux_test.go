package integration

import "syscall"

// ownGroup gives a program a process group, and ends it when the tests are killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
