// Cluster runs the services of docker-compose.yml as plain processes of this machine, without containers: each on free ports of the
// loopback interface, with its data in a temporary folder. It is the quick way to see a cluster work, and to kill parts of it.
//
// `make cluster` builds what it needs and runs it from the root of the repository. Ctrl-C stops everything.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	file := flag.String("file", "docker-compose.yml", "what to run")
	bin := flag.String("bin", "bin", "folder with the programs")
	dir := flag.String("dir", "", "folder for data, logs and cluster.json, kept afterwards; default: a temporary one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *file, *bin, *dir); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// run starts everything, says where it is, and stops it when ctx ends.
func run(ctx context.Context, file, bin, dir string) (err error) {
	dir, remove, err := folder(dir)
	if err != nil {
		return err
	}
	defer remove()
	project, err := load(ctx, file)
	if err != nil {
		return err
	}
	bin, err = filepath.Abs(bin)
	if err != nil {
		return err
	}
	services, err := newPlan(project, bin, dir, freeAddress).services()
	if err != nil {
		return err
	}
	c := &cluster{dir: dir, out: os.Stdout}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := c.start(ctx, services); err != nil {
		return err
	}
	if err := c.tell(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// folder is the one that is named, or a new one that remove removes.
func folder(named string) (dir string, remove func(), err error) {
	if named != "" {
		dir, err = filepath.Abs(named)
		return dir, func() {}, errors.Join(err, os.MkdirAll(named, 0o700))
	}
	dir, err = os.MkdirTemp("", "reach-cluster-")
	return dir, func() { _ = os.RemoveAll(dir) }, err // a temporary folder that stays harms nobody
}
