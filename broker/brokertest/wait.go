package brokertest

import (
	"context"
	"testing"
	"time"
)

// patience bounds every wait of this package; a healthy machine needs a fraction of it.
const patience = 30 * time.Second

const pollInterval = 20 * time.Millisecond

// Eventually polls until the condition holds, and fails the test when it does not come to hold. What names the thing waited for.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !condition() {
		if !pause(ctx) {
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

// pause waits one step of a polling loop; false when the time is up.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
