package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/route"
)

// lookAgain is how often the file of routes is looked at.
const lookAgain = time.Second

// routes keep a dispatcher's routes as their file says.
type routes struct {
	file string // empty: there are none
	d    *dispatcher.Dispatcher
	log  zerolog.Logger
	seen stamp
}

// stamp tells one state of a file from another.
type stamp struct {
	at   time.Time
	size int64
}

// load reads the file for the first time: a bad one is an error.
func (r *routes) load() error {
	if r.file == "" {
		return nil
	}
	r.seen = r.stamp()
	table, err := readRoutes(r.file)
	if err == nil {
		err = r.d.CheckRoutes(table)
	}
	if err != nil {
		return badFile(fmt.Errorf("%s: %w", r.file, err))
	}
	r.d.SetRoutes(table)
	return nil
}

// follow reads the file again whenever it has changed, until ctx ends. A bad file is refused as a whole, and the routes before stay.
func (r *routes) follow(ctx context.Context) error {
	if r.file == "" {
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
		if now := r.stamp(); now != r.seen {
			r.seen = now
			r.again()
		}
	}
}

func (r *routes) again() {
	table, err := readRoutes(r.file)
	if err == nil {
		err = r.d.CheckRoutes(table)
	}
	if err != nil {
		r.log.Error().Err(err).Str("file", r.file).Msg("the routes were not read again; those before stay")
		return
	}
	r.d.SetRoutes(table)
	r.log.Info().Str("file", r.file).Int("routes", len(table.Routes())).Msg("routes read again")
}

func (r *routes) stamp() stamp {
	info, err := os.Stat(r.file)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

func readRoutes(file string) (*route.Table, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return route.Parse(data)
}
