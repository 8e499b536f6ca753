package websocket

import (
	"context"
	"errors"
	"time"
)

var errNoPong = errors.New("the agent does not answer pings")

// watch pings the agent from time to time, and when someone asks; all who wait by then have the answer of one ping.
func (s *socket) watch() {
	tick := time.NewTicker(s.cfg.PingInterval)
	defer tick.Stop()
	for {
		var asking []chan<- error
		select {
		case <-s.ending:
			return
		case <-tick.C:
		case ask := <-s.asks:
			asking = append(asking, ask)
		}
		asking = s.gather(asking)
		err := s.ping()
		for _, ask := range asking {
			ask <- err
		}
	}
}

func (s *socket) gather(asking []chan<- error) []chan<- error {
	for {
		select {
		case ask := <-s.asks:
			asking = append(asking, ask)
		default:
			return asking
		}
	}
}

// answers waits for the agent to show that it is there.
func (s *socket) answers(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case s.asks <- answer:
	case <-s.ending:
		return errNoPong
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pingBytes is more than a ping takes on the wire.
const pingBytes = 64

// ping wants an answer within PongTimeout. That we do not read at the moment, or that something else comes or goes, is as good;
// a connection over which nothing moves is ended.
func (s *socket) ping() error {
	ctx, stop := context.WithTimeout(context.Background(), s.cfg.PongTimeout)
	defer stop()
	stuck, read, written := s.stuck.Load(), s.below.read.Load(), s.below.written.Load()
	if s.conn.Ping(ctx) == nil {
		return nil
	}
	reading := stuck%2 == 0 && s.stuck.Load() == stuck
	moving := s.below.read.Load() != read || s.below.written.Load() > written+pingBytes
	if !isClosed(s.ending) && (moving || !reading) {
		return nil
	}
	s.kill()
	return errNoPong
}
