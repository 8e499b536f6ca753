package websocket

import (
	"context"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// patience is how long a task waits for a connection that is to be made again; beyond it another agent may be the better choice.
const patience = 3 * time.Second

// keeper holds the one connection of an agent and makes it when it is needed: at first at once, after losses with growing delays.
type keeper struct {
	cfg    Config
	dialer *dialer

	mu        sync.Mutex
	socket    *socket
	dialing   *dialing // nil while nobody dials
	losses    int      // in a row, without an answer to a task in between
	notBefore time.Time
	closed    bool
	stop      context.CancelFunc // ends a dial that is under way
	running   sync.WaitGroup
}

// dialing is one dial, for all who wait for it.
type dialing struct {
	done    chan struct{}
	failure *worker.Failure // once done is closed; nil if it went well
}

// live is a connection that takes tasks.
func (k *keeper) live(ctx context.Context) (*socket, *worker.Failure) {
	for {
		s, dial, wait, failure := k.tryLive(time.Now())
		switch {
		case s != nil || failure != nil:
			return s, failure
		case dial != nil:
			failure = dial.await(ctx)
		case wait > patience:
			failure = unavailable("the agent's connection was lost or refused, and is made again in %s", wait.Round(time.Millisecond))
			failure.Err.RetryAfterMS = schemas.Milliseconds(wait)
		default:
			failure = pause(ctx, wait)
		}
		if failure != nil {
			return nil, failure
		}
	}
}

// liveWithin keeps on trying until ctx ends.
func (k *keeper) liveWithin(ctx context.Context) (*socket, *worker.Failure) {
	for {
		s, failure := k.live(ctx)
		if s != nil || ctx.Err() != nil {
			return s, failure
		}
		wait := max(time.Duration(failure.Err.RetryAfterMS)*time.Millisecond, k.cfg.ReconnectAfter)
		if over := pause(ctx, wait); over != nil {
			return nil, failure
		}
	}
}

func (d *dialing) await(ctx context.Context) *worker.Failure {
	select {
	case <-d.done:
		return d.failure
	case <-ctx.Done():
		return answer.Ended(ctx, schemas.RanNo, false)
	}
}

func pause(ctx context.Context, wait time.Duration) *worker.Failure {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return answer.Ended(ctx, schemas.RanNo, false)
	}
}

// tryLive is the connection, the dial that may bring one, or how long to wait before the next look.
func (k *keeper) tryLive(now time.Time) (*socket, *dialing, time.Duration, *worker.Failure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return nil, nil, 0, unavailable("the worker's agent is closed")
	case k.socket != nil:
		return k.socket, nil, 0, nil
	case k.dialing != nil:
		return nil, k.dialing, 0, nil
	}
	if wait := k.notBefore.Sub(now); wait > 0 {
		return nil, nil, wait, nil
	}
	k.startDial()
	return nil, k.dialing, 0, nil
}

// startDial dials in a goroutine that then serves the connection. It belongs to no task: whoever waits for it may leave.
func (k *keeper) startDial() {
	ctx, stop := context.WithCancel(context.Background())
	dial := &dialing{done: make(chan struct{})}
	k.dialing, k.stop = dial, stop
	k.running.Go(func() {
		defer stop()
		conn, below, failure := k.dialer.dial(ctx)
		if failure != nil {
			k.refused(dial, failure)
			return
		}
		s := newSocket(k.cfg, conn, below)
		k.connected(dial, s)
		s.run()
		k.lost(s)
		close(s.dead)
	})
}

func (k *keeper) refused(dial *dialing, failure *worker.Failure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dialing, dial.failure = nil, failure
	again := time.Duration(failure.Err.RetryAfterMS) * time.Millisecond
	k.countLoss(failure.Err.Code == schemas.Unauthenticated || failure.Err.Code == schemas.PermissionDenied, again)
	close(dial.done)
}

func (k *keeper) connected(dial *dialing, s *socket) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dialing, k.socket = nil, s
	if k.closed {
		s.kill()
	}
	close(dial.done)
}

// lost makes room for the next connection before the tasks of this one hear of its end.
func (k *keeper) lost(s *socket) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.socket = nil
	if k.closed {
		return
	}
	if s.answered.Load() {
		k.losses = 0
	}
	k.countLoss(s.end.patient, 0)
	k.cfg.Logger.Warn().Int("close", s.end.code).Int("losses", k.losses).Msg("the agent's connection is lost")
}

// countLoss puts off the next dial: by a delay that doubles, by what the agent asked for, or by all there is where trying again
// soon is of no use.
func (k *keeper) countLoss(patient bool, asked time.Duration) {
	k.losses++
	const most = 16 // doublings: enough for any ReconnectMax, and no overflow
	delay := min(k.cfg.ReconnectMax, k.cfg.ReconnectAfter<<min(k.losses-1, most))
	if patient {
		delay = k.cfg.ReconnectMax
	}
	k.notBefore = time.Now().Add(max(delay, min(asked, k.cfg.ReconnectMax)))
}

// close ends the connection and waits for it.
func (k *keeper) close() {
	k.mu.Lock()
	k.closed = true
	if k.stop != nil && k.dialing != nil {
		k.stop()
	}
	s := k.socket
	k.mu.Unlock()
	if s != nil {
		s.hangUp()
	}
	k.running.Wait()
}
