package worker

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	headStart      = 10 * time.Second // how long the results of an earlier process go before all else
	repeatParallel = 16
)

// repeat brings results to a dispatcher that an earlier process of this worker had no answer to, before it registers the agent: once
// a new process pulls for the agent, dispatchers give up what its predecessor had begun.
func (s *station) repeat(ctx context.Context) {
	owed := s.journal.owed(s.agent.Registration.AgentID)
	if len(owed) == 0 {
		return
	}
	s.log.Info().Int("results", len(owed)).Msg("repeating the results that nobody has answered")
	answered := make(chan struct{})
	s.runner.runs.Go(func() {
		defer close(answered)
		s.runner.repeatAll(ctx, owed)
	})
	start := time.NewTimer(headStart)
	defer start.Stop()
	select {
	case <-answered:
	case <-start.C:
		s.log.Warn().Msg("results of an earlier process are still not answered; they are repeated beside the agent's tasks")
	case <-ctx.Done():
	}
}

func (r *runner) repeatAll(ctx context.Context, owed []attemptKey) {
	var all errgroup.Group
	all.SetLimit(repeatParallel)
	for _, key := range owed {
		all.Go(func() error {
			r.repeat(ctx, key)
			return nil
		})
	}
	_ = all.Wait()
}

// repeat sends a result as it was sent before. One that is refused for good stays owed: a dispatcher of another release may take it
// from the next process.
func (r *runner) repeat(ctx context.Context, key attemptKey) {
	body, expires := r.journal.debt(key)
	if body == nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, expires.Sub(r.cfg.Now()), errExpired)
	defer cancel()
	answer, err := r.courier.deliver(ctx, r.courier.finishes, body, false)
	if err == nil {
		r.journal.settle(key)
	}
	event := r.log.Info()
	if err != nil {
		event = r.log.Warn().Err(err)
	}
	event.Str("task_id", key.taskID).Int("attempt", key.attempt).Str("outcome", string(answer.Outcome)).Msg("result repeated")
}
