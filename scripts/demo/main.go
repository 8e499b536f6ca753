// Demo shows Agent-Reach at work on this machine, in less than half a minute: a house, two real agents that know nothing of it, and
// two tasks. It says each command that it runs, so that one can do the same by hand, and ends every process that it starts.
//
// `make demo` builds what it needs and runs it from the root of the repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// limit is the most time that the demo may take.
const limit = 90 * time.Second

func main() {
	bin := flag.String("bin", "bin", "folder with reach, summarize and reviewdiff")
	flag.Parse()
	os.Exit(start(*bin))
}

func start(bin string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := newStage(bin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	err = play(ctx, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "\nThe demo failed:", err)
		s.showLogs(os.Stderr)
	}
	if clean := s.clear(); clean != nil {
		fmt.Fprintln(os.Stderr, "demo:", clean)
		return 1
	}
	if err != nil {
		return 1
	}
	fmt.Println(farewell)
	return 0
}
