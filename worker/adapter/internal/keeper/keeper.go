// Package keeper keeps the one connection that an agent has: it is made when it is first needed, by whoever needs it first and
// for all who wait by then, and made again when it was lost, at first soon, after losses in a row with growing delays.
//
// A connection has one goroutine of the keeper, which makes it and serves it to its end; Close waits for it.
package keeper

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// Conn is a connection to an agent.
type Conn interface {
	comparable
	Run() Loss // serves it until it has ended
	Lost()     // called then, once there is room for the next one
	HangUp()   // ends it; may be called at any time, and again
}

// Loss is how a connection ended.
type Loss struct {
	Worked  bool // it was of use: the delays begin anew
	Patient bool // it is of no use to try again soon
}

// Config of a Keeper.
type Config[C Conn] struct {
	Dial  func(ctx context.Context) (C, *worker.Failure)
	After time.Duration // before the dial that follows a loss or a refusal; doubles with each in a row
	Max   time.Duration // where the doubling ends
}

// Keeper keeps one connection.
type Keeper[C Conn] struct {
	cfg Config[C]

	mu        sync.Mutex
	conn      C // zero while there is none
	dialing   *dialing
	losses    int             // in a row
	refusal   *worker.Failure // of the last dial; nil if it went well
	notBefore time.Time
	closed    bool
	stopDial  context.CancelFunc
	running   sync.WaitGroup
}

// dialing is one dial, for all who wait for it.
type dialing struct {
	done    chan struct{}
	failure *worker.Failure // once done is closed; nil if it went well
}

// New keeps what cfg dials. It dials nothing yet.
func New[C Conn](cfg Config[C]) *Keeper[C] { return &Keeper[C]{cfg: cfg} }

// patience is how long a task waits for a connection that is to be made again; beyond it another agent may be the better choice.
const patience = 3 * time.Second

// Live is a connection that takes tasks. A failure says that the agent was sent nothing.
func (k *Keeper[C]) Live(ctx context.Context) (C, *worker.Failure) {
	var none C
	for {
		conn, dial, wait, failure := k.tryLive(time.Now())
		switch {
		case conn != none || failure != nil:
			return conn, failure
		case dial != nil:
			failure = dial.await(ctx)
		case wait > patience:
			failure = k.putOff(wait)
		default:
			failure = pause(ctx, wait)
		}
		if failure != nil {
			return none, failure
		}
	}
}

// putOff is the failure of a task that will not wait so long. It says why the last dial was in vain.
func (k *Keeper[C]) putOff(wait time.Duration) *worker.Failure {
	k.mu.Lock()
	last := k.refusal
	k.mu.Unlock()
	failure := answer.Unreached("the connection to the agent was lost, and is made again in %s", wait.Round(time.Millisecond))
	if last != nil {
		failure.Err.Message = fmt.Sprintf("the agent is asked again in %s; the last time: %s", wait.Round(time.Millisecond), last.Err.Message)
		failure.Err.Details = maps.Clone(last.Err.Details)
	}
	failure.Err.RetryAfterMS = schemas.Milliseconds(wait)
	return failure
}

// LiveWithin is Live, but tries until ctx ends.
func (k *Keeper[C]) LiveWithin(ctx context.Context) (C, *worker.Failure) {
	for {
		conn, failure := k.Live(ctx)
		if failure == nil || ctx.Err() != nil {
			return conn, failure
		}
		wait := max(time.Duration(failure.Err.RetryAfterMS)*time.Millisecond, k.cfg.After)
		if pause(ctx, wait) != nil {
			return conn, failure
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
func (k *Keeper[C]) tryLive(now time.Time) (conn C, dial *dialing, wait time.Duration, failure *worker.Failure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var none C
	switch {
	case k.closed:
		return none, nil, 0, answer.Unreached("the worker's agent is closed")
	case k.conn != none:
		return k.conn, nil, 0, nil
	case k.dialing != nil:
		return none, k.dialing, 0, nil
	}
	if wait := k.notBefore.Sub(now); wait > 0 {
		return none, nil, wait, nil
	}
	k.startDial()
	return none, k.dialing, 0, nil
}

// startDial dials in a goroutine that then serves the connection. It belongs to no task: whoever waits for it may leave.
func (k *Keeper[C]) startDial() {
	ctx, stop := context.WithCancel(context.Background())
	dial := &dialing{done: make(chan struct{})}
	k.dialing, k.stopDial = dial, stop
	k.running.Go(func() {
		defer stop()
		conn, failure := k.cfg.Dial(ctx)
		if failure != nil {
			k.refused(dial, failure)
			return
		}
		k.connected(dial, conn)
		k.lost(conn.Run())
		conn.Lost()
	})
}

func (k *Keeper[C]) refused(dial *dialing, failure *worker.Failure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dialing, k.refusal, dial.failure = nil, failure, failure
	forbidden := failure.Err.Code == schemas.Unauthenticated || failure.Err.Code == schemas.PermissionDenied
	k.countLoss(forbidden, time.Duration(failure.Err.RetryAfterMS)*time.Millisecond)
	close(dial.done)
}

func (k *Keeper[C]) connected(dial *dialing, conn C) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dialing, k.conn, k.refusal = nil, conn, nil
	if k.closed {
		conn.HangUp()
	}
	close(dial.done)
}

func (k *Keeper[C]) lost(loss Loss) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var none C
	k.conn = none
	if loss.Worked {
		k.losses = 0
	}
	k.countLoss(loss.Patient, 0)
}

// countLoss puts off the next dial: by a delay that doubles, by what the agent asked for, or by all there is where trying again
// soon is of no use.
func (k *Keeper[C]) countLoss(patient bool, asked time.Duration) {
	k.losses++
	const most = 16 // doublings: enough for any Max, and no overflow
	delay := min(k.cfg.Max, k.cfg.After<<min(k.losses-1, most))
	if patient {
		delay = k.cfg.Max
	}
	k.notBefore = time.Now().Add(max(delay, min(asked, k.cfg.Max)))
}

// Close ends the connection and waits for it. Live refuses from then on.
func (k *Keeper[C]) Close() {
	k.mu.Lock()
	k.closed = true
	if k.dialing != nil {
		k.stopDial()
	}
	conn := k.conn
	k.mu.Unlock()
	var none C
	if conn != none {
		conn.HangUp()
	}
	k.running.Wait()
}
