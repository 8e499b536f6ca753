// Package gather takes in what an agent says where nobody knows beforehand how long it is, and hands it over in one piece of just that
// size. What is large lies in a file without a name until all of it is there: memory that grows with what comes would hold it two and
// three times over. Where there is no room for files it grows all the same.
//
// It starts no goroutine.
package gather

import (
	"fmt"
	"io"
	"os"
)

const (
	inMemory  = 1 << 20   // bytes that are held before there is a file
	together  = 256 << 10 // bytes that are written to it at once
	beginning = 64 << 10  // bytes of a beginning that was written to it
	atLeast   = 512       // bytes that the first read has room for
)

// Bytes are what has come so far. The zero value is none. It is used by one goroutine, and has to be taken or dropped.
type Bytes struct {
	held   []byte // what the file does not have yet
	file   *os.File
	filed  int64 // bytes in the file
	noRoom bool  // there can be no file
}

// Len is how many bytes there are.
func (b *Bytes) Len() int { return int(b.filed) + len(b.held) }

// Write takes in all of p.
func (b *Bytes) Write(p []byte) (int, error) {
	b.room(len(p))
	b.held = append(b.held, p...)
	return len(p), b.settle()
}

// ReadFrom takes in all that r has; what is small costs little more than itself.
func (b *Bytes) ReadFrom(r io.Reader) (n int64, err error) {
	for {
		if len(b.held) == cap(b.held) {
			b.room(atLeast)
		}
		got, err := r.Read(b.held[len(b.held):cap(b.held)])
		b.held, n = b.held[:len(b.held)+got], n+int64(got)
		if settled := b.settle(); settled != nil {
			return n, settled
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// room makes space for more in fewer steps than append takes.
func (b *Bytes) room(more int) {
	if need := len(b.held) + more; need > cap(b.held) {
		b.held = append(make([]byte, 0, max(need, 2*cap(b.held))), b.held...)
	}
}

// settle puts away what is too much to be held.
func (b *Bytes) settle() error {
	if len(b.held) < together || b.noRoom || b.file == nil && len(b.held) < inMemory {
		return nil
	}
	if err := b.putAway(); err != nil {
		b.noRoom = true
		return b.fetch()
	}
	return nil
}

// putAway moves what is held into the file.
func (b *Bytes) putAway() error {
	if b.file == nil {
		file, err := os.CreateTemp("", "reach-answer-")
		if err != nil {
			return err
		}
		_ = os.Remove(file.Name()) // where an open file keeps its name, Drop removes it
		b.file = file
	}
	n, err := b.file.Write(b.held)
	b.filed += int64(n)
	b.held = b.held[:copy(b.held, b.held[n:])]
	return err
}

// fetch is the way back from a file that can take no more.
func (b *Bytes) fetch() error {
	whole, err := b.whole()
	b.Drop()
	b.held = whole
	return err
}

func (b *Bytes) whole() ([]byte, error) {
	if b.file == nil {
		return b.held, nil
	}
	whole := make([]byte, b.Len())
	if _, err := b.file.ReadAt(whole[:b.filed], 0); err != nil {
		return nil, fmt.Errorf("read what was put away: %w", err)
	}
	copy(whole[b.filed:], b.held)
	return whole, nil
}

// Take is all of it, the caller's to keep. Then there is nothing any more.
func (b *Bytes) Take() ([]byte, error) {
	whole, err := b.whole()
	b.Drop()
	return whole, err
}

// Beginning is the first of it, some 64 KiB at least of what is longer, as long as nothing is done with b.
func (b *Bytes) Beginning() []byte {
	if b.file == nil {
		return b.held
	}
	first := make([]byte, min(b.filed, beginning))
	n, _ := b.file.ReadAt(first, 0) // what cannot be read is not there
	return first[:n]
}

// Drop forgets it.
func (b *Bytes) Drop() {
	if b.file != nil {
		_ = b.file.Close()
		_ = os.Remove(b.file.Name())
	}
	b.held, b.file, b.filed = nil, nil, 0
}

// All is what from has, but not more than a little over limit bytes.
func All(from io.Reader, limit int64) ([]byte, error) {
	var all Bytes
	if _, err := io.Copy(&all, io.LimitReader(from, limit+1)); err != nil {
		defer all.Drop()
		first := all.Beginning()
		return append([]byte(nil), first...), err
	}
	return all.Take()
}
