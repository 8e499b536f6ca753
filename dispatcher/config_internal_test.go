package dispatcher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is promised in numbers holds for whoever runs a dispatcher and names none.
func TestWhatCountsWhereNobodySaysOtherwise(t *testing.T) {
	t.Parallel()
	type numbers struct {
		Heartbeat, TTL, Receipts, Grace       time.Duration
		Expiry, Retention, KeyedAtLeast, Dead time.Duration
		Payload, Inline                       int
		PerCapability, PerAgent               int
		Messages                              uint64
		Excess, Resend, Backoff, BackoffCap   time.Duration
		ProbeAgain                            time.Duration
		Beat, BeatTTL, Confirm                time.Duration
		Chain                                 int
	}
	c := Config{}.withDefaults(1 << 20)
	got := numbers{
		c.HeartbeatInterval, c.HeartbeatTTL, c.ReceiptInterval, c.DisconnectGrace, c.Expiry, c.Retention, retentionWithKey, c.KeepDead,
		c.MaxPayload, c.InlineBytes, c.QueuePerCapability, c.QueuePerAgent, c.MaxMessages, c.ExcessWait, c.ResendAfter, c.BackoffBase, c.BackoffCap,
		c.Probes.Again, c.PresenceBeat, c.PresenceTTL, confirmFor, chainLength,
	}
	want := numbers{
		Heartbeat: 15 * time.Second, TTL: 45 * time.Second, Receipts: 15 * time.Second, Grace: 5 * time.Second,
		Expiry: 24 * time.Hour, Retention: 24 * time.Hour, KeyedAtLeast: 24 * time.Hour, Dead: 7 * 24 * time.Hour,
		Payload: 128 << 20, Inline: 32 << 10, PerCapability: 100_000, PerAgent: 10_000, Messages: 5_000_000,
		Excess: 100 * time.Millisecond, Resend: time.Second, Backoff: 500 * time.Millisecond, BackoffCap: 30 * time.Second,
		ProbeAgain: 5 * time.Second, Beat: time.Second, BeatTTL: 3 * time.Second, Confirm: 5 * time.Second, Chain: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
