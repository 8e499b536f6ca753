package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// storeLimit is how much JetStream may keep: what was asked for, but never more than it already has plus most of what is
// free. Beyond that a write fails with "insufficient storage", which is better said before the disk is full for everyone.
func storeLimit(cfg Config) (int64, error) {
	used, err := size(cfg.Dir)
	if err != nil {
		return 0, err
	}
	free, err := freeBytes(cfg.Dir)
	if err != nil {
		return 0, fmt.Errorf("ask for free disk in %s: %w", cfg.Dir, err)
	}
	wanted := cmp.Or(cfg.MaxStore, DefaultMaxStore)
	limit := boundStore(wanted, used, free)
	if cfg.MaxStore > limit {
		cfg.Logger.Warn().Int64("wanted_bytes", wanted).Int64("limit_bytes", limit).Msg("broker storage is bounded by free disk")
	}
	return limit, nil
}

// boundStore leaves a tenth of the free disk to others. Never 0, which the server would read as "choose yourself".
func boundStore(wanted, used, free int64) int64 {
	return max(min(wanted, used+free/10*9), 1)
}

func size(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure broker directory: %w", err)
	}
	return total, nil
}
