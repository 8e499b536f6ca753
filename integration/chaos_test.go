//go:build unix

package integration

import (
	"flag"
	"testing"
	"time"
)

var (
	chaosFor   = flag.Duration("chaos", 18*time.Second, "how long the chaos lasts")
	chaosNodes = flag.Int("nodes", 1, "how many brokers the chaos has: 1 or 3")
)

// TestChaos has customers at every front order tasks of all kinds, while processes are killed, frozen and stopped, connections are cut,
// held up and made to lose, and the clocks of dispatchers and workers are wrong by up to ten minutes. Then all that customers, the
// ledger and the agents say of every task must fit together. It runs alone, since it leaves little of the machine to others.
func TestChaos(t *testing.T) {
	r := newRand(t)
	s := newStage(t, r, *chaosNodes)
	w := newWitness(t, s.url)
	c := s.openDoors(r, *chaosFor+time.Minute)
	told := s.storm(r, *chaosFor)
	p := s.prove(w, c.close())
	c.calledBack(p)
	c.history.fits(p)
	p.again()
	s.noSlotIsLost()
	t.Logf("%s; %s", told, c.history)
}
