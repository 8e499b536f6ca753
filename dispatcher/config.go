package dispatcher

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/dispatcher/health"
	"github.com/agentreach/agent-reach/dispatcher/meaning"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

// envelopeRoom is what a stored message may need beside its payload: metadata, hops, tags, unknown members, headers.
const envelopeRoom = 64 << 10

// Config of a dispatcher. The zero value is useful.
type Config struct {
	ID           string // unique among dispatchers; made up when empty
	Version      string // of the program, shown by the micro service
	Logger       zerolog.Logger
	Capabilities []schemas.Capability // added to the dictionary beside the starter set; one that differs from the stored one is an error

	HeartbeatInterval time.Duration // told to workers; 15 s
	HeartbeatTTL      time.Duration // silence after which an agent is offline; 45 s
	ReceiptInterval   time.Duration // told to workers; 15 s
	DisconnectGrace   time.Duration // for an agent that nobody answers for; 5 s

	Expiry    time.Duration // a task's life where the caller names none; 24 h
	Retention time.Duration // how long a record is kept after its task's expiry; 24 h
	KeepDead  time.Duration // how long a dead letter is kept; 7 days

	MaxPayload   int   // bytes of a payload or result; 128 MiB
	InlineBytes  int   // up to so many, a payload or result is part of a message; 32 KiB, or half of what a message holds
	MaxBodyBytes int64 // of all that are larger, together; 8 GiB
	BodyMemory   int64 // of those that are held whole at once, where a schema has to see all of one; 256 MiB

	SubmitWait time.Duration // for a broker that does not answer, before a submit is refused as one that may be repeated; 2.5 s

	QueuePerCapability int    // waiting tasks; 100,000
	QueuePerAgent      int    // tasks waiting for one agent alone; 10,000
	MaxAgents          int    // registered; 10,000
	MaxMessages        uint64 // of the ledger; 5,000,000. Above 80 % new tasks are refused
	MaxBytes           uint64 // of the ledger; 0 is no bound

	Strategy score.Strategy // by score where none is named
	Weights  score.Weights  // of the factors of a score; score.Usual

	Meaning *meaning.Ranker // finds what an intent may mean whose words are not known; nil: nothing is found then

	ExcessWait  time.Duration // an agent gets more than its slots as far as that waits less than this; 100 ms
	MaxExcess   int           // tasks beyond its slots that an agent may get; 1,024
	ResendAfter time.Duration // without a sign of an assignment; 1 s
	BackoffBase time.Duration // before the first retry on an agent that was tried; 500 ms
	BackoffCap  time.Duration // 30 s

	Probes health.Config // when idle agents are tried

	Callbacks CallbackConfig

	MaxSchedules  int           // 1,000
	ScheduleGrace time.Duration // how late an occurrence may be before it counts as missed; 1 min

	PresenceBeat time.Duration // between dispatchers; 1 s
	PresenceTTL  time.Duration // 3 s
	Tick         time.Duration // of the loops; 100 ms

	Now func() time.Time // the clock; time.Now
}

// retentionWithKey is the least time that a task with a msg_id is kept: its key must work that long.
const retentionWithKey = 24 * time.Hour

func (c Config) withDefaults(maxMessage int64) Config {
	c.ID = cmp.Or(c.ID, "dispatcher-"+letters(8))
	c.Version = cmp.Or(c.Version, "0.0.0")
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, 15*time.Second)
	c.HeartbeatTTL = cmp.Or(c.HeartbeatTTL, 3*c.HeartbeatInterval)
	c.ReceiptInterval = cmp.Or(c.ReceiptInterval, c.HeartbeatInterval)
	c.DisconnectGrace = cmp.Or(c.DisconnectGrace, 5*time.Second)
	c.Strategy = cmp.Or(c.Strategy, score.ByScore)
	c.Expiry = cmp.Or(c.Expiry, 24*time.Hour)
	c.Retention = cmp.Or(c.Retention, 24*time.Hour)
	c.KeepDead = cmp.Or(c.KeepDead, 7*24*time.Hour)
	c.MaxPayload = cmp.Or(c.MaxPayload, schemas.MaxBody)
	c.InlineBytes = cmp.Or(c.InlineBytes, min(32<<10, int(maxMessage)/2, c.MaxPayload))
	c.MaxBodyBytes = cmp.Or(c.MaxBodyBytes, 8<<30)
	c.BodyMemory = cmp.Or(c.BodyMemory, 2*schemas.MaxBody)
	c.SubmitWait = cmp.Or(c.SubmitWait, 2500*time.Millisecond)
	c.QueuePerCapability = cmp.Or(c.QueuePerCapability, 100_000)
	c.QueuePerAgent = cmp.Or(c.QueuePerAgent, 10_000)
	c.MaxAgents = cmp.Or(c.MaxAgents, 10_000)
	c.MaxMessages = cmp.Or(c.MaxMessages, 5_000_000)
	c.ExcessWait = cmp.Or(c.ExcessWait, 100*time.Millisecond)
	c.MaxExcess = cmp.Or(c.MaxExcess, 1024)
	c.ResendAfter = cmp.Or(c.ResendAfter, time.Second)
	c.BackoffBase = cmp.Or(c.BackoffBase, 500*time.Millisecond)
	c.BackoffCap = cmp.Or(c.BackoffCap, 30*time.Second)
	c.Callbacks = c.Callbacks.withDefaults()
	c.MaxSchedules = cmp.Or(c.MaxSchedules, 1000)
	c.ScheduleGrace = cmp.Or(c.ScheduleGrace, time.Minute)
	c.Probes.Again = cmp.Or(c.Probes.Again, 5*time.Second)
	c.PresenceBeat = cmp.Or(c.PresenceBeat, time.Second)
	c.PresenceTTL = cmp.Or(c.PresenceTTL, 3*c.PresenceBeat)
	c.Tick = cmp.Or(c.Tick, 100*time.Millisecond)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// letters is a random name that nobody, and no redaction of logs, takes for a number.
func letters(n int) string {
	name := make([]byte, n)
	for i := range name {
		name[i] = byte('a' + rand.IntN(26))
	}
	return string(name)
}

func (c Config) check(maxMessage int64) error {
	if room := max(int(maxMessage)-envelopeRoom, int(maxMessage)/2); c.InlineBytes > room {
		return fmt.Errorf("limits.inline_bytes is %d, and of a payload at most %d bytes travel inside one of the broker's messages", c.InlineBytes, room)
	}
	if c.HeartbeatTTL <= c.HeartbeatInterval {
		return fmt.Errorf("the heartbeat TTL %v is not longer than the interval %v", c.HeartbeatTTL, c.HeartbeatInterval)
	}
	return nil
}
