package main

import (
	"time"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
)

// skewVariable sets the clock of a dispatcher or worker wrong, by so much: tests show with it that this changes nothing.
const skewVariable = "REACH_TEST_CLOCK_SKEW"

// clock is the time that dispatchers and workers of this process go by.
func (a *app) clock() (func() time.Time, error) {
	text := a.getenv(skewVariable)
	if text == "" {
		return time.Now, nil
	}
	skew, err := time.ParseDuration(text)
	if err != nil {
		return nil, exit.UsageError("%s takes a time such as -10m: %s", skewVariable, err)
	}
	return func() time.Time { return time.Now().Add(skew) }, nil
}
