//go:build unix

package integration

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

var phoneKills = flag.Int("phone-kills", 2, "how often the dispatchers of phones are killed")

// TestTheDispatchersOfPhonesAreKilledInMidTask has a device serve what another device orders, of both kinds, while the dispatchers between
// them are killed, one or both, each time while a task runs. The devices live on, so that every task is completed; one with side
// effects is run once, by the agent's own log, and the customer hears of every end.
func TestTheDispatchersOfPhonesAreKilledInMidTask(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	h := emptyHouse(t)
	listener := freeAddress(t)
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
	for range *phoneKills {
		h.killInMidTask(r)
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

// killInMidTask kills one dispatcher, or both, while an agent is at work, and starts what was killed some time later.
func (h *house) killInMidTask(r *rand.Rand) {
	h.t.Helper()
	brokertest.Eventually(h.t, "an agent is at work", func() bool {
		all := readEffects(h.t, h.effects)
		return len(all) > 0 && all[len(all)-1].ended.IsZero()
	})
	victims := h.dispatchers
	if r.IntN(3) > 0 {
		one := r.IntN(len(victims))
		victims = victims[one : one+1]
	}
	for _, victim := range victims {
		victim.kill()
	}
	pause(context.Background(), upTo(r, 500*time.Millisecond))
	for _, victim := range victims {
		victim.start()
	}
	for _, victim := range victims {
		victim.until("dispatcher up")
	}
}

// byPhone is a number of people who order with one device, one order after the other.
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

func (b *byPhone) order(ctx context.Context, r *rand.Rand, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		payload := fmt.Sprintf(`{"ms":%d,"text":"%d of %d","command":"go test"}`, r.IntN(200), i, n)
		o := newOrder(fmt.Sprintf("phone-%d-%d", n, i), pick(r, abilities), payload)
		b.place(o)
		b.mu.Lock()
		b.orders = append(b.orders, o)
		b.mu.Unlock()
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
