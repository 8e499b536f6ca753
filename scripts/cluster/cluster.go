package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// patience is how long the services of one wave may take to become well.
const patience = time.Minute

// cluster is the processes that run.
type cluster struct {
	dir       string
	out       io.Writer
	processes []*process
}

// start starts every service as soon as those that it comes after are well.
func (c *cluster) start(ctx context.Context, services []service) error {
	well := make(map[string]bool)
	for len(services) > 0 {
		wave, rest := split(services, well)
		if len(wave) == 0 {
			return errors.New("services wait for each other")
		}
		if err := c.startWave(ctx, wave); err != nil {
			return err
		}
		for _, s := range wave {
			well[s.name] = true
		}
		services = rest
	}
	return nil
}

// split finds the services that may start, given which are well.
func split(services []service, well map[string]bool) (now, later []service) {
	for _, s := range services {
		if slices.ContainsFunc(s.after, func(other string) bool { return !well[other] }) {
			later = append(later, s)
		} else {
			now = append(now, s)
		}
	}
	return now, later
}

// startWave starts services and returns when all of them are well.
func (c *cluster) startWave(ctx context.Context, wave []service) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var started []*process
	for _, s := range wave {
		p, err := spawn(c.dir, s, c.ended)
		if err != nil {
			return fmt.Errorf("start %s: %w", s.name, err)
		}
		c.processes = append(c.processes, p)
		started = append(started, p)
	}
	for _, p := range started {
		if err := p.awaitWell(ctx); err != nil {
			return fmt.Errorf("%s is not well: %w\n%s", p.name, err, p.tail())
		}
	}
	return nil
}

// ended is told of each process that ends before it is stopped. The others go on, as they would on machines of their own.
func (c *cluster) ended(name string, how error) {
	_, _ = fmt.Fprintf(c.out, "%s has ended: %v\n", name, how)
}

// described is a process in cluster.json.
type described struct {
	PID   int      `json:"pid"`
	Ports []string `json:"ports,omitempty"`
}

// tell says where everything is: to a person, and to programs in cluster.json, written by rename.
func (c *cluster) tell() error {
	all := make(map[string]described)
	for _, p := range c.processes {
		all[p.name] = described{p.command.Process.Pid, p.ports}
	}
	content, err := json.Marshal(map[string]any{"services": all})
	if err != nil {
		return err
	}
	path := filepath.Join(c.dir, "cluster.json")
	if err := errors.Join(os.WriteFile(path+".new", content, 0o600), os.Rename(path+".new", path)); err != nil {
		return err
	}
	c.show()
	return nil
}

func (c *cluster) show() {
	_, _ = fmt.Fprintf(c.out, "The cluster is up; its data and logs are in %s\n\n", c.dir)
	var brokers []string
	for _, p := range c.processes {
		_, _ = fmt.Fprintf(c.out, "  %-18s %-8d %s\n", p.name, p.command.Process.Pid, p.url())
		if strings.HasPrefix(p.url(), "nats://") {
			brokers = append(brokers, p.url())
		}
	}
	_, _ = fmt.Fprintf(c.out, `
In another terminal:
  export REACH_URL=%s
  bin/reach agent list
  bin/reach task submit summarize -d '{"text":"Ships sail. Ships sink."}' --wait

Kill what you like (kill -9 PID); Ctrl-C stops everything.
`, strings.Join(brokers, ","))
}

// stop ends every process, the last one first.
func (c *cluster) stop() error {
	var problems []error
	for _, p := range slices.Backward(c.processes) {
		problems = append(problems, p.stop())
	}
	return errors.Join(problems...)
}
