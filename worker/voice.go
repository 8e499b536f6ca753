package worker

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// errSilent is the illness of an agent that has said that it lives, and says so no more.
var errSilent = errors.New("the agent itself is not heard any more")

// Voice is what an agent says of itself, beside its worker: that it lives, what it can do now, and how busy its machine is. One that has
// never spoken need not. A nil Voice is one that nobody listens to.
type Voice struct {
	Silence time.Duration    // after which an agent that has spoken counts as ill
	Now     func() time.Time // the clock

	mu   sync.Mutex
	last schemas.Control
	at   time.Time // zero: it has never spoken
}

// hear takes a word of the agent, and reports whether it says anything new.
func (v *Voice) hear(word schemas.Control) (news bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	news = v.at.IsZero() || word.Reason != v.last.Reason || !slices.Equal(word.Capabilities, v.last.Capabilities)
	v.last, v.at = word, v.Now()
	return news
}

// ill is why the agent cannot work, as far as it says so itself.
func (v *Voice) ill() error {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.at.IsZero() && (v.last.Reason == schemas.BeatGoodbye || v.Now().Sub(v.at) >= v.Silence) {
		return errSilent
	}
	return nil
}

// serves reports whether the agent can do a capability now.
func (v *Voice) serves(capability string) bool {
	if v == nil {
		return true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last.Capabilities == nil || slices.Contains(v.last.Capabilities, capability)
}

// load is that of the agent's machine, or another where the agent has not said.
func (v *Voice) load(other func() float64) float64 {
	if v == nil {
		return other()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last.LoadAvg
}
