//go:build unix

package integration

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"
)

// abilities are all that the agents of these tests can do together.
var abilities = []string{"echo", "text_stats", "test_run"}

// busy is a load that leaves agents some room.
func busy() demand {
	return demand{callers: 8, every: 50 * time.Millisecond, capabilities: abilities, most: 100 * time.Millisecond}
}

func TestReachUpIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := newHouse(t)
	h.startWorker(child("stats", 4, "echo", "text_stats"), h.startHTTPAgent("tests", 4, "echo", "test_run"))
	w := newWitness(t, h.url)
	load := startLoad(h, r, busy())
	for range *kills {
		atRandom(r)
		h.broker.kill()
		h.broker.start()
		if r.IntN(4) > 0 { // else it is killed while it starts
			h.awaitBroker()
		}
	}
	h.awaitBroker()
	atRandom(r)
	p := h.prove(w, load.stop())
	h.broker.kill()
	h.startBroker()
	p.again()
}

func TestWorkersAreKilledUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := newHouseOf(t, impatient)
	steady := h.startWorker(child("steady", 2, abilities...))
	workers := []*process{
		h.startWorker(child("stats", 3, "echo", "text_stats", "test_run")),
		h.startWorker(h.startHTTPAgent("tests", 3, "echo", "test_run")),
	}
	w := newWitness(t, h.url)
	load := startLoad(h, r, busy())
	for range *kills {
		atRandom(r)
		victim := workers[r.IntN(len(workers))]
		victim.kill()
		if r.IntN(2) == 0 {
			atRandom(r)
		}
		victim.start()
	}
	for _, worker := range workers {
		worker.until("worker up")
	}
	p := h.prove(w, load.stop())
	steady.stop()
	p.again()
}

func TestOneOfTwoDispatchersIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := newHouseApart(t, 2)
	h.startWorker(child("stats", 4, "echo", "text_stats"), h.startHTTPAgent("tests", 4, "echo", "test_run"))
	w := newWitness(t, h.url)
	load := startLoad(h, r, busy())
	for range *kills {
		atRandom(r)
		victim := h.dispatchers[r.IntN(2)]
		victim.kill()
		if r.IntN(2) == 0 {
			atRandom(r)
		}
		victim.start()
		victim.until("dispatcher up")
	}
	if !w.heardAll() {
		t.Error("the broker was lost, though nobody has touched it")
	}
	p := h.prove(w, load.stop())
	h.dispatchers[0].kill()
	p.ways = p.ways[:1]
	p.again()
}

func TestAnythingIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := emptyHouse(t)
	h.write("reach.yaml", impatient)
	h.apart(2)
	h.startWorker(child("steady", 2, abilities...))
	worker := h.startWorker(child("stats", 3, abilities...), h.startHTTPAgent("tests", 3, "echo", "test_run"))
	w := newWitness(t, h.url)
	load := startLoad(h, r, busy())
	victims := append([]*process{h.broker, worker}, h.dispatchers...)
	for range *kills {
		atRandom(r)
		for range 1 + r.IntN(2) {
			victims[r.IntN(len(victims))].kill()
		}
		atRandom(r)
		for _, victim := range victims {
			if victim.pid() == 0 {
				victim.start()
			}
		}
	}
	h.awaitBroker()
	worker.until("worker up")
	h.prove(w, load.stop()).again()
}

// atRandom lets things happen for a while.
func atRandom(r *rand.Rand) { pause(context.Background(), time.Duration(r.Int64N(int64(time.Second)))) }
