// Summarize is a small agent behind HTTP that knows nothing of Agent-Reach: it picks the sentences that say most about a text.
//
//	POST /run      {"text": "…", "max_sentences": 2}  →  {"summary": "…"}
//	GET  /healthz  204
//
// It prints its URL once it listens. With -effects it appends the task of each request to a file, so that one can count what
// was really done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "host:port to listen on; port 0 takes a free one")
	effects := flag.String("effects", "", "append the task_id of each summary to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen, &agent{effects: *effects}); err != nil {
		fmt.Fprintln(os.Stderr, "summarize:", err)
		os.Exit(1)
	}
}

// serve answers until ctx ends, and then what it has begun.
func serve(ctx context.Context, address string, a *agent) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	server := &http.Server{Handler: a.routes(), ReadHeaderTimeout: 10 * time.Second}
	fmt.Printf("http://%s\n", listener.Addr())
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-stopped
}
