package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// spool keeps chunks in a file that has no name. It is used by one goroutine.
type spool struct {
	file *os.File
	w    *bufio.Writer
	last error // why nothing more can be kept
}

func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "reach-chunks-")
	if err != nil {
		return nil, fmt.Errorf("keep chunks: %w", err)
	}
	_ = os.Remove(file.Name()) // where an open file keeps its name, close removes it
	return &spool{file: file, w: bufio.NewWriterSize(file, 64<<10)}, nil
}

func (s *spool) add(chunk []byte) error {
	if s.last == nil {
		_, _ = s.w.Write(binary.AppendUvarint(nil, uint64(len(chunk)))) // the next write has its error
		_, s.last = s.w.Write(chunk)
	}
	return s.last
}

// each gives the chunks in order. What it gives is only good until it gives the next.
func (s *spool) each(fn func(chunk []byte) error) error {
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("keep chunks: %w", err)
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read chunks: %w", err)
	}
	r := bufio.NewReaderSize(s.file, 64<<10)
	var chunk []byte
	for {
		length, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			chunk = append(chunk[:0], make([]byte, length)...)
			_, err = io.ReadFull(r, chunk)
		}
		if err != nil {
			return fmt.Errorf("read chunks: %w", err)
		}
		if err := fn(chunk); err != nil {
			return err
		}
	}
}

func (s *spool) close() {
	if s != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

// spooled is a result that is larger than is held in memory.
type spooled struct {
	size  int64
	write func(io.Writer) error
}

// WriteTo writes the result.
func (s *spooled) WriteTo(w io.Writer) (int64, error) { return s.size, s.write(w) }
