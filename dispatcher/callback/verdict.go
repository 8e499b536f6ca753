package callback

import (
	"cmp"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Policy is how often a callback is tried, and how long is waited in between.
type Policy struct {
	Attempts int                             // 12
	Pause    func(attempt int) time.Duration // after so many attempts
	Longest  time.Duration                   // that a receiver may ask us to wait; 1 h
}

// Result of one call.
type Result struct {
	Status     int
	Error      *schemas.Error // nil: the receiver has taken it
	RetryAfter time.Duration  // as the receiver wishes
}

// After is how a callback stands after one more attempt that ended at now. Nothing is promised beyond until, when the record goes.
func After(c schemas.Callback, r Result, p Policy, now, until time.Time) schemas.Callback {
	c.Attempts++
	c.Status, c.Error, c.NextAt = r.Status, r.Error, schemas.Time{}
	if r.Error == nil {
		c.State, c.DeliveredAt = schemas.CallbackDelivered, schemas.At(now)
		return c
	}
	next := now.Add(max(p.Pause(c.Attempts), min(r.RetryAfter, cmp.Or(p.Longest, time.Hour))))
	if !r.Error.Retryable || c.Attempts >= cmp.Or(p.Attempts, 12) || !next.Before(until) {
		c.State = schemas.CallbackFailed
		return c
	}
	c.State, c.NextAt = schemas.CallbackWaiting, schemas.At(next)
	return c
}

// Again is how a callback stands that a person wants made once more: at once, and with all its attempts before it.
func Again(c schemas.Callback, now time.Time) schemas.Callback {
	return schemas.Callback{State: schemas.CallbackWaiting, URL: c.URL, NextAt: schemas.At(now), Unknown: c.Unknown}
}
