package main

import (
	"context"
	"os"
	"time"
)

// lookAgain is how often a file is looked at that is read again when it changes.
const lookAgain = time.Second

// watched is a file that is read again whenever it has changed.
type watched struct {
	file string // empty: there is none
	seen stamp
}

// stamp tells one state of a file from another.
type stamp struct {
	at   time.Time
	size int64
}

// look remembers the file as it is. It is called before the file is read: what changes in between is read again.
func (w *watched) look() { w.seen = w.stamp() }

// follow calls again whenever the file has changed, until ctx ends.
func (w *watched) follow(ctx context.Context, again func()) error {
	if w.file == "" {
		return nil
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if now := w.stamp(); now != w.seen {
			w.seen = now
			again()
		}
	}
}

func (w *watched) stamp() stamp {
	info, err := os.Stat(w.file)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}
