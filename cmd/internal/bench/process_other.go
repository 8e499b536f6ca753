//go:build !linux

package bench

import "syscall"

// detached leaves the processes in this one's group, since nothing else would end them if this one is killed.
func detached() *syscall.SysProcAttr { return nil }
