//go:build linux || darwin

package embedded

import "golang.org/x/sys/unix"

// freeBytes is what an ordinary user may still write where dir is.
func freeBytes(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil
}
