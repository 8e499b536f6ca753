// Package outfile writes the files that people name on the command line. One that is a file, or is not there yet, has its name only once
// it is whole and on the disk. Whatever else is there, a device or a pipe, is written into and stays what it is; a link stays one, too.
package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write has write make what is to be at path. A new file is readable by its owner alone.
func Write(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replace(named(path), write)
	case err != nil:
		return cannot(path, err)
	case info.IsDir():
		return fmt.Errorf("write %s: it is a folder; name a file in it", path)
	case info.Mode().IsRegular():
		return replaceTarget(path, write)
	default:
		return into(path, write)
	}
}

// replaceTarget replaces the file that a path leads to, over links too.
func replaceTarget(path string, write func(io.Writer) error) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return cannot(path, err)
	}
	return replace(target, write)
}

// named is the file that is to be made at a path: that which a link names, where it is there and its file is not.
func named(path string) string {
	target, err := os.Readlink(path)
	if err != nil {
		return path
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return named(target)
}

// replace writes a file beside the one of that name, and puts it in its place.
func replace(path string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return cannot(path, err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // which is gone once it has its name
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return cannot(path, err)
	}
	return nil
}

// into writes into what is no file.
func into(path string, write func(io.Writer) error) error {
	there, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return cannot(path, err)
	}
	return errors.Join(write(there), there.Close())
}

// cannot names the path that was asked for, and not those beside it.
func cannot(path string, err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return fmt.Errorf("write %s: %w", path, err)
}
