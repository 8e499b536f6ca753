package worker

import (
	"context"
	"time"
)

// starter starts what has a slot and hands back what would wait too long for one.
type starter struct {
	inbox  *inbox
	runner *runner
	now    func() time.Time
}

func (s *starter) run(ctx context.Context) {
	for {
		start, back, again := s.inbox.next(s.now())
		for _, a := range start {
			s.runner.start(a)
		}
		for _, a := range back {
			s.runner.release(a)
		}
		if !s.inbox.start.wait(ctx, again) {
			return
		}
	}
}
