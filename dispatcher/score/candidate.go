package score

import (
	"math/bits"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/agentreach/agent-reach/schemas"
)

// Candidate is an agent as one task sees it. What is not known of it is left zero: each field says what that counts as.
type Candidate struct {
	AgentID string
	Standing
	Load
	History
	Price
	Fit      Fit
	Priority *int // as registered, 0 to 100; nil: 50
}

// Standing is what the filters look at.
type Standing struct {
	State   schemas.AgentState
	Offers  bool // it declares the capability, and its last heartbeat did not leave it out
	Groups  []string
	Version *semver.Version // nil: unknown, older than every other, in no range
	Broken  bool            // its circuit breaker lets nothing through
	Streams bool            // its transport hands results over piece by piece
	Fetches bool            // its worker fetches payloads that are too large for a message
}

// Load is how busy the agent is.
type Load struct {
	Average  float64   // the 1-minute load of its machine per core
	Slots    int       // how many tasks of the capability it runs at once; at least 1 is assumed
	InFlight int       // how many it has now, those on their way to it included
	Excess   int       // how many beyond its slots it may be handed, since they would hardly wait
	Heard    time.Time // the last sign of life; zero: none
}

// Taken is the share of the agent's slots that are taken: 0 when idle, 1 when full, more when tasks wait at the agent.
func (l *Load) Taken() float64 { return float64(l.InFlight) / float64(max(1, l.Slots)) }

// Free reports whether the agent has a slot that is free.
func (l *Load) Free() bool { return l.InFlight < max(1, l.Slots) }

// Room reports whether the agent may be handed one more task.
func (l *Load) Room() bool { return l.InFlight < max(1, l.Slots)+l.Excess }

// History is how the agent has done so far with the capability.
type History struct {
	Successes int           // among the recent results
	Results   int           // all recent results
	Median    time.Duration // of the time that a task takes: measured, else as declared; zero: unknown, which counts as no time
	Hint      time.Duration // how long a task is expected to take at most; zero: DefaultHint
}

// expected is how long it takes until one more task is done, those before it included that wait for a slot.
func (c *Candidate) expected() time.Duration {
	slots := max(1, c.Slots)
	waits := float64(max(0, c.InFlight+1-slots)) / float64(slots)
	return time.Duration(float64(c.Median) * (1 + waits))
}

// unfelt is the time below which nobody minds how long a task takes.
const unfelt = 10 * time.Millisecond

// pace is how soon an agent would be done with one more task, in steps of 14 to 25 %: what is nearer to each other counts as equal.
func (c *Candidate) pace() int16 {
	expected := uint64(max(c.expected(), unfelt))
	octave := bits.Len64(expected)
	return int16(4*octave) + int16(expected>>(octave-3)&3)
}

// DefaultHint is how long a task is expected to take where nobody says.
const DefaultHint = 20 * time.Second

// Price is what the agent costs, as registered.
type Price struct {
	PerCall *float64 // nil: Weight counts
	Weight  *float64 // nil: 1
}

// Fit is how a payload and an agent's contract go together. The zero value fits wholly.
type Fit struct {
	Required, Present  int  // members that the input schema requires; those of them that the payload has
	Optional, Declared int  // members of the payload beyond those; the ones of them that the input schema knows
	OtherOutput        bool // the result is in another format than the one that was asked for
}
