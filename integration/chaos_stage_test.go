//go:build unix

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// stage is a house all of whose parts can be hurt: each dispatcher and worker is a process whose clock is wrong, and reaches the
// brokers through wires of its own.
type stage struct {
	*house
	cluster *brokertest.ClusterBroker // nil where house.broker is the only one
	workers []*process
	callee  *callee
	mqtt    []string // addresses of the MQTT listeners
	wires   []wires
}

// slots of the agents on the stage.
var stageSlots = map[string]int{"steady": 4, "pieces": 4, "twin": 4, "server": 4, "claimer": 2, "handheld": 2}

func newStage(t testing.TB, r *rand.Rand, nodes int) *stage {
	t.Helper()
	s := &stage{house: emptyHouse(t), callee: newCallee(t)}
	close(s.callee.open)
	s.write("secret", callbackSecret+"\n")
	s.write("reach.yaml", impatient+"callbacks: {secret_file: secret, allow: [127.0.0.0/8], timeout: 2s, backoff: 200ms, backoff_cap: 2s}\n")
	if nodes > 1 {
		s.cluster = brokertest.SeparableCluster(t, nodes, brokertest.WithMQTT(t))
		s.url, s.mqtt = s.cluster.URL(), s.cluster.MQTT()
	} else {
		s.mqtt = []string{brokertest.FreeAddress(t)}
		s.broker = s.program("the broker", "broker", "--data", s.data(), "--nats", address(s.url), "--mqtt", s.mqtt[0])
		s.startBroker()
	}
	for range 2 {
		d := s.addDispatcher(s.wire().url()).with("--replicas", number(nodes))
		s.setWrong(d, r)
		d.start()
	}
	for _, d := range s.dispatchers {
		d.until("dispatcher up")
	}
	s.addWorker(r, child("steady", stageSlots["steady"], abilities...))
	s.addWorker(r, child("pieces", stageSlots["pieces"], abilities...), s.startHTTPAgent("server", stageSlots["server"], "echo", "test_run"))
	s.addWorker(r, child("twin", stageSlots["twin"], abilities...))
	s.comesByItself("claimer", claimAgent, stageSlots["claimer"], s.fronts)
	s.comesByItself("handheld", mqttAgent, stageSlots["handheld"], s.tunnel())
	return s
}

func (s *stage) addWorker(r *rand.Rand, agents ...served) {
	s.t.Helper()
	through := *s.house
	through.url = s.wire().url()
	w := through.worker(agents...).with("--drain-timeout", "1s")
	s.setWrong(w, r)
	s.workers = append(s.workers, w.up())
}

// setWrong sets the clock of a process wrong.
func (s *stage) setWrong(p *process, r *rand.Rand) {
	p.env = append(p.env, fmt.Sprintf("REACH_TEST_CLOCK_SKEW=%ds", r.IntN(1201)-600))
}

// wires are a client's ways to the brokers.
type wires []*brokertest.Relay

func (s *stage) wire() wires {
	s.t.Helper()
	var w wires
	for node := range strings.SplitSeq(s.url, ",") {
		w = append(w, brokertest.Proxy(s.t, node))
	}
	s.wires = append(s.wires, w)
	return w
}

// tunnel is a device's ways to the MQTT listeners.
func (s *stage) tunnel() (addresses []string) {
	s.t.Helper()
	var w wires
	for _, listener := range s.mqtt {
		w = append(w, brokertest.Tunnel(s.t, listener))
		addresses = append(addresses, address(w[len(w)-1].URL()))
	}
	s.wires = append(s.wires, w)
	return addresses
}

func (w wires) url() string {
	var urls []string
	for _, relay := range w {
		urls = append(urls, relay.URL())
	}
	return strings.Join(urls, ",")
}

func (w wires) each(do func(*brokertest.Relay)) {
	for _, relay := range w {
		do(relay)
	}
}

// standUp starts again whatever is down, and waits until all of it serves.
func (s *stage) standUp() {
	s.t.Helper()
	for _, p := range s.servers {
		revive(p, "listening")
	}
	if s.broker != nil {
		revive(s.broker, "broker up")
	}
	if s.cluster != nil {
		s.cluster.InSync("REACH")
	}
	for _, p := range s.dispatchers {
		revive(p, "dispatcher up")
	}
	for _, p := range s.workers {
		revive(p, "worker up")
	}
}

// revive starts a process that is down, and waits until it says that it serves.
func revive(p *process, text string) {
	p.t.Helper()
	p.thaw()
	if p.pid() == 0 {
		p.start()
	}
	p.until(text)
}

// noSlotIsLost: once all has ended, every dispatcher says of every agent that it has nothing in flight, and each agent takes as many
// tasks at once as before.
func (s *stage) noSlotIsLost() {
	s.t.Helper()
	for _, front := range s.fronts {
		c := newHTTPCaller(s.t, front)
		brokertest.Eventually(s.t, "agents at rest, at "+front, func() bool {
			ctx, cancel := context.WithTimeout(context.Background(), oneTry)
			defer cancel()
			var page schemas.AgentPage
			_, answer, err := c.exchange(ctx, http.MethodGet, "/v1/agents", nil)
			if err != nil || schemas.Decode(answer, &page) != nil || len(page.Items) != len(stageSlots) {
				return false
			}
			for i := range page.Items {
				if page.Items[i].InFlight != 0 || page.Items[i].State != schemas.AgentOnline {
					return false
				}
			}
			return true
		})
	}
	s.everySlotIsTaken()
}

// everySlotIsTaken gives each agent as many tasks as it has slots, and sees them run side by side. Where it takes long until all are accepted
// the first have ended before the last begin: then it gives more.
func (s *stage) everySlotIsTaken() {
	s.t.Helper()
	const rounds = 6
	most := make(map[string]int)
	for round := range rounds {
		orders := s.oneForEachSlot(round)
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); pause(s.t.Context(), 20*time.Millisecond) {
			for agent, running := range runningNow(readEffects(s.t, s.effects), orders) {
				most[agent] = max(most[agent], running)
			}
			if allTaken(most) {
				return
			}
		}
	}
	s.t.Errorf("in %d rounds agents had %v tasks at once, and can do %v", rounds, most, stageSlots)
}

func (s *stage) oneForEachSlot(round int) (orders []*order) {
	all := s.callers()
	for agent, slots := range stageSlots {
		for n := range slots {
			m := ask("echo", `{"ms":1500}`)
			m.MsgID, m.PreferAgent = fmt.Sprintf("round %d, slot %d of %s", round, n, agent), agent
			o := &order{key: m.MsgID, message: schemas.MustEncode(m), tasks: make(map[string]bool)}
			o.place(s.t.Context(), rand.New(rand.NewPCG(1, 1)), all)
			orders = append(orders, o)
		}
	}
	return orders
}

func allTaken(most map[string]int) bool {
	for agent, slots := range stageSlots {
		if most[agent] < slots {
			return false
		}
	}
	return true
}

// runningNow counts the orders that each agent has begun and not ended.
func runningNow(all []*effect, orders []*order) map[string]int {
	count := make(map[string]int)
	for _, e := range all {
		for _, o := range orders {
			if o.tasks[e.taskID] && e.ended.IsZero() && time.Since(e.began) < 10*time.Second {
				count[e.agent]++
			}
		}
	}
	return count
}
