package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// courier brings a begin, a result or a release to any dispatcher: the same bytes again and again, until one has the last word.
// What all couriers of a worker have on its way at once is bounded by their window: what waits here is asked once, while what waits
// at a busy dispatcher would be asked again and again.
type courier struct {
	begins, finishes, releases *broker.Bundler

	window  chan struct{}
	timeout time.Duration
	known   atomic.Uint64 // the highest sequence that an answer has told
	log     zerolog.Logger
}

func newCourier(cfg *Config, agentID string, log zerolog.Logger) *courier {
	return &courier{
		begins:   cfg.Conn.Bundler(broker.SubjectBegin(agentID), broker.SubjectBegins(agentID)),
		finishes: cfg.Conn.Bundler(broker.SubjectFinish(agentID), broker.SubjectFinishes(agentID)),
		releases: cfg.Conn.Bundler(broker.SubjectRelease(agentID), broker.SubjectReleases(agentID)),
		window:   cfg.window, timeout: cfg.RequestTimeout, log: log,
	}
}

// deliver returns the outcome stored, already_yours or superseded, or why there will be none: the cause of ctx, or a refusal that
// no repeat changes. With insist a refusal is repeated as well: another dispatcher may think otherwise.
func (c *courier) deliver(ctx context.Context, to *broker.Bundler, body []byte, insist bool) (schemas.Answer, error) {
	wait := backoff{first: 50 * time.Millisecond, most: 2 * time.Second}
	for timeout := c.timeout; ; timeout = min(2*timeout, mostPatience*c.timeout) {
		answer, err := c.ask(ctx, to, body, timeout)
		c.learn(answer.Sequence)
		if err == nil && answer.Outcome != schemas.OutcomeTryAgain {
			return answer, nil
		}
		if ctx.Err() == nil && final(err) && !insist {
			return schemas.Answer{}, err
		}
		c.log.Debug().Err(err).Stringer("subject", to).Msg("no final answer yet")
		if !sleep(ctx, wait.next()) {
			return schemas.Answer{}, context.Cause(ctx)
		}
	}
}

// mostPatience is how many times its timeout a request waits at most: it waits longer with each answer that has not come, for
// dispatchers that are alive and busy.
const mostPatience = 8

func (c *courier) learn(sequence uint64) {
	for known := c.known.Load(); known < sequence; known = c.known.Load() {
		if c.known.CompareAndSwap(known, sequence) {
			return
		}
	}
}

// final reports whether a dispatcher has refused for good.
func final(err error) bool {
	var refused *schemas.Error
	return errors.As(err, &refused) && !refused.Retryable
}

// codeOf is the code of a dispatcher's refusal; empty for any other error.
func codeOf(err error) schemas.Code {
	var refused *schemas.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

func (c *courier) ask(ctx context.Context, to *broker.Bundler, body []byte, timeout time.Duration) (schemas.Answer, error) {
	select {
	case c.window <- struct{}{}:
		defer func() { <-c.window }()
	case <-ctx.Done():
		return schemas.Answer{}, context.Cause(ctx)
	}
	reply, err := to.RequestWithin(ctx, timeout, body)
	if err != nil {
		return schemas.Answer{}, err
	}
	var answer schemas.Answer
	if err := schemas.Decode(reply, &answer); err != nil {
		return schemas.Answer{}, err
	}
	if answer.Error != nil {
		c.log.Debug().Stringer("subject", to).Str("code", string(answer.Error.Code)).Str("reason", answer.Error.Reason).
			Str("outcome", string(answer.Outcome)).Msg("answered with an error")
	}
	switch answer.Outcome {
	case schemas.OutcomeStored, schemas.OutcomeAlreadyYours, schemas.OutcomeSuperseded, schemas.OutcomeTryAgain:
		return answer, nil
	}
	if answer.Error != nil {
		return schemas.Answer{}, answer.Error
	}
	return schemas.Answer{}, fmt.Errorf("read answer: no outcome %q", answer.Outcome)
}
