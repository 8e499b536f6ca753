package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// volume is one file of a journal. Lines are added at its end and never changed; a new volume takes over before it is too large or
// too old. All but flush belongs to who holds the journal's lock.
type volume struct {
	path   string
	number int
	file   *os.File
	size   atomic.Int64
	lines  int
	first  time.Time // when its first line was written, and its last
	last   time.Time

	flushing sync.Mutex
	flushed  int64 // so much of it is on the disk
}

const volumeForm = "journal-%08d.jsonl"

func openVolume(dir string, number int) (*volume, error) {
	path := filepath.Join(dir, fmt.Sprintf(volumeForm, number))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("open journal: %s is no regular file: take it away, or choose another folder", path), err, file.Close())
	}
	return &volume{path: path, number: number, file: file}, nil
}

// volumesIn are the numbers of the volumes in a folder, in order.
func volumesIn(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		var number int
		if n, err := fmt.Sscanf(e.Name(), volumeForm, &number); n == 1 && err == nil && e.Name() == fmt.Sprintf(volumeForm, number) {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// read gives every line, with its newline, and cuts off a last one that has none: the process died while it wrote it.
func (v *volume) read(each func(from int64, raw []byte) time.Time) error {
	lines := bufio.NewReaderSize(v.file, 64<<10)
	for {
		raw, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return v.file.Truncate(v.size.Load())
		case err != nil:
			return fmt.Errorf("read journal: %w", err)
		}
		v.grew(len(raw), 1, each(v.size.Load(), raw))
	}
}

func (v *volume) grew(bytes, lines int, at time.Time) {
	v.size.Add(int64(bytes))
	v.lines += lines
	if v.first.IsZero() {
		v.first = at
	}
	v.last = at
}

// add writes lines in one go. What could only be written in part is taken back.
func (v *volume) add(raw []byte, lines int, now time.Time) (from int64, err error) {
	from = v.size.Load()
	if _, err := v.file.Write(raw); err != nil {
		return 0, errors.Join(fmt.Errorf("write journal: %w", err), v.file.Truncate(from))
	}
	v.grew(len(raw), lines, now)
	return from, nil
}

// hasRoom reports whether a line may be added.
func (v *volume) hasRoom(most journalBounds, now time.Time) bool {
	return v.lines < most.lines && v.size.Load() < most.bytes && (v.lines == 0 || now.Sub(v.first) < most.keep)
}

// flush returns once the first so many bytes are on the disk. Those who wait for it at the same time share its work.
func (v *volume) flush(bytes int64) error {
	v.flushing.Lock()
	defer v.flushing.Unlock()
	if v.flushed >= bytes {
		return nil
	}
	size := v.size.Load()
	if err := v.file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) { // what is closed was flushed, or is no longer needed
		return fmt.Errorf("flush journal: %w", err)
	}
	v.flushed = size
	return nil
}

func (v *volume) at(from int64, length int) ([]byte, error) {
	raw := make([]byte, length)
	if _, err := v.file.ReadAt(raw, from); err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return raw, nil
}

func (v *volume) close() { _ = v.file.Close() } // every write was answered before

func (v *volume) remove() error {
	v.close()
	return os.Remove(v.path)
}
