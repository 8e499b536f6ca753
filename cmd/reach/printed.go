package main

import (
	"context"
	"io"
	"sync"
)

// printed is stdout as commands print to it. The places that print do not look at what became of it; printed does: it keeps the first
// failure, which is the command's then, and ends the command, since nobody gets what it still has to say.
type printed struct {
	to  io.Writer
	end context.CancelFunc

	mu     sync.Mutex
	failed error
}

// Write passes on what it gets until the first failure.
func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return 0, p.failed
	}
	n, err := p.to.Write(text)
	if err != nil {
		p.failed = err
		p.end()
	}
	return n, err
}

// lost is why something was not printed, or nil.
func (p *printed) lost() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// seen is whether a person looks at what is printed.
func (a *app) seen() bool {
	if p, ok := a.stdout.(*printed); ok {
		return a.terminal(p.to)
	}
	return a.terminal(a.stdout)
}
