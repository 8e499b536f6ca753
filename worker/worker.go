package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Worker serves the agents of one process.
type Worker struct {
	stations []*station
	journal  *journal
	started  atomic.Bool
	missing  atomic.Int64 // agents that are not registered and heard yet
	ready    chan struct{}
}

// New checks the configuration. Nothing happens before Run.
func New(cfg Config) (*Worker, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	w := &Worker{ready: make(chan struct{}), journal: newJournal(cfg.JournalDir, cfg.Now, cfg.Logger)}
	for _, agent := range cfg.Agents {
		w.stations = append(w.stations, newStation(&cfg, agent, w.journal, w.oneListens))
	}
	w.missing.Store(int64(len(w.stations)))
	return w, nil
}

// Run is New and Worker.Run in one.
func Run(ctx context.Context, cfg Config) error {
	w, err := New(cfg)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// Run registers the agents and serves them until ctx ends. Then it drains: it takes nothing new, hands back what has not begun,
// waits for what runs, and after DrainTimeout tells that to stop, with ErrStopping as the cause. It returns when all that it
// started has ended, so a Handler that does not return holds it up. A registration that is refused for good is its error, and so is
// a journal that cannot be read. It can run once.
func (w *Worker) Run(ctx context.Context) error {
	if w.started.Swap(true) {
		return errors.New("a worker runs once")
	}
	if err := w.journal.open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer w.journal.close()
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		w.journal.run(ctx)
		return nil
	})
	for _, s := range w.stations {
		all.Go(func() error {
			if err := s.run(ctx); err != nil {
				return fmt.Errorf("serve %s: %w", s.agent.Registration.AgentID, err)
			}
			return nil
		})
	}
	return all.Wait()
}

// Ready is closed once every agent is registered and listening.
func (w *Worker) Ready() <-chan struct{} { return w.ready }

func (w *Worker) oneListens() {
	if w.missing.Add(-1) == 0 {
		close(w.ready)
	}
}
