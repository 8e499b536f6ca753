//go:build unix && !linux

package integration

import "syscall"

// ownGroup gives a program a process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
