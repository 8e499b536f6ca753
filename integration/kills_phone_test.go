//go:build unix

package integration

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

var phoneKills = flag.Int("phone-kills", 2, "how often the dispatchers of phones are killed")

// TestTheDispatchersOfPhonesAreKilledInMidTask has a device serve what another device orders, of both kinds, while the dispatchers between
// them are killed, each time while a task runs: the one that speaks for the device, both, the other one, and so on. The devices live on, so
// that every task is completed; one with side effects is run once, by the agent's own log, and the customer hears of every end. While the one
// that spoke for the device is dead the other does, and brings the end of the very task that ran.
func TestTheDispatchersOfPhonesAreKilledInMidTask(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := emptyHouse(t)
	listener := brokertest.FreeAddress(t)
	h.broker = h.program("the broker", "broker", "--data", h.data(), "--nats", address(h.url), "--mqtt", listener)
	h.startBroker()
	for range 2 {
		h.addDispatcher(h.url).start()
	}
	for _, d := range h.dispatchers {
		d.until("dispatcher up")
	}
	h.comesByItself("handheld", mqttAgent, 4, []string{listener})
	w := newWitness(t, h.url)
	heard := newHistory(t)
	orders := orderByPhone(newPhoneCaller(t, []string{listener}, heard), r)
	for n := range *phoneKills {
		id := orders.keepsBusy(h, n)
		owner, other := h.speakerFor("handheld")
		victims := [][]*process{{owner}, {owner, other}, {other}}[n%3]
		for _, victim := range victims {
			victim.kill()
		}
		if len(victims) == 1 {
			w.result(id)
		}
		pause(context.Background(), upTo(r, 500*time.Millisecond))
		for _, victim := range victims {
			victim.start()
		}
		for _, victim := range victims {
			victim.until("dispatcher up")
		}
	}
	p := h.prove(w, orders.stop())
	for id, task := range p.ended {
		if task.State != schemas.StateCompleted {
			t.Errorf("task %s ended as %s: %v: %s", id, task.State, task.Error, p.story(id))
		}
	}
	t.Logf("%d ends told to the phone; %s", orders.phone.hasHeard(t), heard)
	heard.fits(p)
	p.again()
}

// speakerFor is the dispatcher that speaks for a device, once both agree who is there, and the other one.
func (h *house) speakerFor(device string) (owner, other *process) {
	h.t.Helper()
	brokertest.Eventually(h.t, "the dispatchers agree who is there", func() bool {
		names, all := make(map[string]*process), [][]string{}
		for _, d := range h.dispatchers {
			name, peers := peersOf(d)
			names[name], all = d, append(all, peers)
		}
		for _, peers := range all {
			if !slices.Equal(peers, slices.Sorted(maps.Keys(names))) {
				return false
			}
		}
		owner = names[score.Owner(all[0], device)]
		return true
	})
	for _, d := range h.dispatchers {
		if d != owner {
			other = d
		}
	}
	return owner, other
}

// peersOf is how a dispatcher is called, and who it believes is there, by its own log.
func peersOf(d *process) (name string, peers []string) {
	for line := range strings.Lines(d.said.String()) {
		var said struct {
			Dispatcher string   `json:"dispatcher"`
			Peers      []string `json:"peers"`
		}
		if schemas.Decode([]byte(strings.TrimSpace(line)), &said) == nil && said.Peers != nil {
			name, peers = said.Dispatcher, said.Peers
		}
	}
	return name, peers
}

// byPhone is a number of people who order with one device, each one order after the end of the other: what waits does not grow.
type byPhone struct {
	phone *phoneCaller
	rest  context.CancelFunc
	all   sync.WaitGroup

	mu     sync.Mutex
	orders []*order
}

// orderByPhone starts them; stop ends them and returns what they have ordered.
func orderByPhone(phone *phoneCaller, r *rand.Rand) *byPhone {
	ctx, rest := context.WithCancel(context.Background())
	b := &byPhone{phone: phone, rest: rest}
	phone.history.t.Cleanup(func() { b.stop() })
	for n := range 4 {
		own := rand.New(rand.NewPCG(r.Uint64(), uint64(n)))
		b.all.Go(func() { b.order(ctx, own, n) })
	}
	return b
}

// keepsBusy orders something that takes its time and is not to be done twice, and returns once the device works at it.
func (b *byPhone) keepsBusy(h *house, n int) (taskID string) {
	h.t.Helper()
	o := newOrder(fmt.Sprintf("phone-long-%d", n), "test_run", `{"ms":1500,"command":"go test"}`)
	b.keep(o)
	brokertest.Eventually(h.t, "the device is at work", func() bool {
		return slices.ContainsFunc(readEffects(h.t, h.effects), func(e *effect) bool { return e.taskID == o.taskID() })
	})
	return o.taskID()
}

// keep places an order that is part of the proof.
func (b *byPhone) keep(o *order) {
	b.place(o)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders = append(b.orders, o)
}

func (b *byPhone) order(ctx context.Context, r *rand.Rand, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		payload := fmt.Sprintf(`{"ms":%d,"text":"%d of %d","command":"go test"}`, r.IntN(200), i, n)
		o := newOrder(fmt.Sprintf("phone-%d-%d", n, i), pick(r, abilities), payload)
		b.keep(o)
		for id := o.taskID(); id != "" && ctx.Err() == nil && !b.phone.hasHeardOf(id); {
			pause(ctx, repeatWait)
		}
		pause(ctx, upTo(r, 200*time.Millisecond))
	}
}

// place says an order until it is accepted.
func (b *byPhone) place(o *order) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		task, err := b.phone.submit(ctx, o.message)
		if err == nil {
			o.tasks[task.TaskID] = true
			return
		}
		if o.refused = err; !temporary(err) {
			return
		}
		pause(ctx, repeatWait)
	}
}

func (b *byPhone) stop() []*order {
	b.rest()
	b.all.Wait()
	return b.orders
}
