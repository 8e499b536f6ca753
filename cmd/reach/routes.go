package main

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/schemas/smallfile"
)

// routes keep a dispatcher's routes as their file says.
type routes struct {
	watched
	d   *dispatcher.Dispatcher
	log zerolog.Logger
}

// load reads the file for the first time: a bad one is an error.
func (r *routes) load() error {
	if r.file == "" {
		return nil
	}
	r.look()
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
func (r *routes) follow(ctx context.Context) error { return r.watched.follow(ctx, r.again) }

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

func readRoutes(file string) (*route.Table, error) {
	data, err := smallfile.Read(file, smallfile.Text)
	if err != nil {
		return nil, err
	}
	return route.Parse(data)
}
