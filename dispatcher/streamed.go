package dispatcher

import "github.com/agentreach/agent-reach/schemas"

// streamed is what is known of the chunks that an attempt has sent: the number of the last one, 0 if there was none, or that nobody
// has counted them.
type streamed struct {
	last      int64
	uncounted bool
}

// goOn makes the numbers of the next attempt's chunks go on after those of the one before.
func (s streamed) goOn(a *schemas.Assignment) {
	switch {
	case s.uncounted:
		a.Restarts++
	case s.last > 0:
		a.NextChunk, a.Restarts = s.last+1, 0
	}
}
