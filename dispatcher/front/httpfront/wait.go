package httpfront

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/danielgtaylor/huma/v2"
)

// Patience is how long a caller says that it wants to wait. ?wait= comes before Prefer: wait=.
type Patience struct {
	Wait   string `query:"wait" example:"30s" doc:"How long to wait for the end: a duration such as 30s or 1500ms, or seconds."`
	Prefer string `header:"Prefer" example:"wait=10" doc:"wait=SECONDS, as in RFC 7240; respond-async does not wait at all."`

	asked   *time.Duration // nil: the caller said nothing
	applied string         // for Preference-Applied
}

// Resolve reads both forms. Only the query can be wrong: a preference that is not understood is ignored, as the RFC has it.
func (p *Patience) Resolve(ctx huma.Context) []error {
	if p.Wait != "" {
		wait, err := parseWait(p.Wait)
		if err != nil {
			return []error{newProblem(err)}
		}
		p.asked = &wait
		return nil
	}
	var lines []string
	ctx.EachHeader(func(name, value string) {
		if name == "Prefer" {
			lines = append(lines, value)
		}
	})
	if wait, applied, found := parsePrefer(lines); found {
		p.asked, p.applied = &wait, applied
	}
	return nil
}

// orElse is the wait that was asked for, or another, and never more than limit.
func (p *Patience) orElse(other, limit time.Duration) time.Duration {
	if p.asked != nil {
		other = *p.asked
	}
	return min(other, limit)
}

// parseWait reads a duration (30s, 1m30s, 250ms) or a number of seconds (30, 0.5). What is too long to count is as long as can be.
func parseWait(text string) (time.Duration, error) {
	wait, err := time.ParseDuration(text)
	if err != nil {
		wait, err = parseSeconds(text)
	}
	if err != nil || wait < 0 {
		return 0, badQuery("wait", "a duration such as 30s or 1500ms, or a number of seconds, is expected")
	}
	return wait, nil
}

func parseSeconds(text string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xXpPnNiI_") { // hexadecimal, NaN and Inf are no one's seconds
		return 0, strconv.ErrSyntax
	}
	if seconds >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64, nil
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// parsePrefer finds wait and respond-async in Prefer headers (RFC 7240): the first of each name counts. respond-async without wait
// is a wait of nothing. applied is what Preference-Applied may repeat.
func parsePrefer(lines []string) (wait time.Duration, applied string, found bool) {
	async := false
	for _, preference := range strings.Split(strings.Join(lines, ","), ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "respond-async":
			async = true
		case "wait":
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 32)
			if err == nil && applied == "" {
				wait, applied = time.Duration(seconds)*time.Second, "wait="+strconv.FormatUint(seconds, 10)
			}
		}
	}
	switch {
	case applied != "":
		return wait, applied, true
	case async:
		return 0, "respond-async", true
	}
	return 0, "", false
}

var _ huma.Resolver = (*Patience)(nil)

// closingKey is the context key of a server's own context.
type closingKey struct{}

// whileServing is a request's context that ends as well when the server begins to stop.
func (s *server) whileServing(ctx context.Context) (context.Context, context.CancelFunc) {
	waiting, cancel := context.WithCancel(ctx)
	if closing, ok := ctx.Value(closingKey{}).(context.Context); ok {
		undo := context.AfterFunc(closing, cancel)
		return waiting, func() { undo(); cancel() }
	}
	return waiting, cancel
}

// wait waits for the end of a task, or until the server begins to stop: then the caller gets the task as it stands.
func (s *server) wait(ctx context.Context, taskID string, wait time.Duration) (*schemas.Task, error) {
	if wait <= 0 {
		return s.Service.Task(ctx, s.tenant(ctx), taskID)
	}
	waiting, cancel := s.whileServing(ctx)
	defer cancel()
	task, err := s.Service.Wait(waiting, s.tenant(ctx), taskID, wait)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return s.Service.Task(ctx, s.tenant(ctx), taskID)
	}
	return task, err
}
