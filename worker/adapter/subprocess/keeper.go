package subprocess

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/process"
)

// patience is how long a task waits for a child that is to be started again; beyond it another agent may be the better choice.
const patience = 3 * time.Second

// keeper holds the one child of an agent and starts it when it is needed: at first at once, after deaths with growing delays.
type keeper struct {
	cfg     Config
	command []string

	mu        sync.Mutex
	child     *child
	deaths    int // in a row, without an answer in between
	notBefore time.Time
	closed    bool
	running   sync.WaitGroup
}

// live is a child that takes tasks.
func (k *keeper) live(ctx context.Context) (*child, *worker.Failure) {
	for {
		c, wait, failure := k.tryLive(time.Now())
		if c != nil || failure != nil {
			return c, failure
		}
		if wait > patience {
			failure := answer.Unreached("the agent's program died %d times in a row and is started again in %s", k.deathCount(),
				wait.Round(time.Millisecond))
			failure.Err.RetryAfterMS = schemas.Milliseconds(wait)
			return nil, failure
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, answer.Ended(ctx, schemas.RanNo, false)
		}
	}
}

// tryLive is the child, or how long to wait before the next look.
func (k *keeper) tryLive(now time.Time) (*child, time.Duration, *worker.Failure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, 0, answer.Unreached("the worker's agent is closed")
	}
	if k.child != nil {
		return k.child, 0, nil
	}
	if wait := k.notBefore.Sub(now); wait > 0 {
		return nil, wait, nil
	}
	c, err := k.start()
	if err != nil {
		k.countDeath(now)
		return nil, 0, cannotStart(err)
	}
	return c, 0, nil
}

func (k *keeper) start() (*child, error) {
	p, err := process.Start(k.command, k.cfg.Dir, process.Environment(os.Environ(), k.cfg.Env, nil), k.cfg.Logger)
	if err != nil {
		return nil, err
	}
	c := &child{
		p: p, max: k.cfg.MaxLine, kill: k.cfg.KillAfter,
		writes: make(chan *write), dead: make(chan struct{}), calls: make(map[string]*call),
	}
	k.child = c
	k.running.Go(func() {
		defer close(c.dead)
		c.run()
		k.bury(c)
	})
	return c, nil
}

// bury makes room for the next child before the tasks of this one hear of its death.
func (k *keeper) bury(c *child) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.child = nil
	if k.closed {
		return
	}
	if c.answered.Load() {
		k.deaths = 0
	}
	k.countDeath(time.Now())
	k.cfg.Logger.Warn().Int("exit", c.end.Code).Int("deaths", k.deaths).Msg("the agent's program has ended")
}

func (k *keeper) countDeath(now time.Time) {
	k.deaths++
	k.notBefore = now.Add(k.delay())
}

// delay is what follows the last death: it doubles with each.
func (k *keeper) delay() time.Duration {
	const most = 16 // doublings: enough for any RestartMax, and no overflow
	return min(k.cfg.RestartMax, k.cfg.RestartAfter<<min(k.deaths-1, most))
}

func (k *keeper) deathCount() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.deaths
}

// close ends the child and waits for it. Its stdin is closed, too: some programs know only that.
func (k *keeper) close() {
	k.mu.Lock()
	k.closed = true
	c := k.child
	k.mu.Unlock()
	if c != nil {
		_ = c.p.Stdin.Close()
		c.p.Stop(k.cfg.KillAfter)
	}
	k.running.Wait()
}
