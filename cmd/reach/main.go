// Command reach is all of Agent-Reach in one binary: the broker, the dispatcher with its fronts, the worker, and the command line
// that people and scripts use. Each command is a file; what they share is in app.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/agentreach/agent-reach/cmd/internal/collector"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
)

// version of this build; the linker sets it.
var version = "dev"

func main() { os.Exit(start()) }

// sameSignal is how long a signal that comes again is still the first: timeout, npm and some supervisors send it to a process and then to
// its group, and so twice at once to whoever is in both.
const sameSignal = 500 * time.Millisecond

// start runs the command line until it is done. The first signal asks it to end, a second one ends it.
func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	afterwards(ctx, stop)
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ(), terminal: isTerminal}
	collector.GiveRoom(a.getenv)
	profiled, err := startProfile(a.getenv)
	if err != nil {
		a.tell(err)
		return exit.Code(err)
	}
	defer profiled()
	return a.run(ctx, os.Args[1:])
}

// afterwards calls stop when ctx has ended for a while, so that the next signal does what signals do.
func afterwards(ctx context.Context, stop func()) {
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
}

// isTerminal reports whether a person looks at what is written there: /dev/null is a device as well, and no terminal.
func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}
