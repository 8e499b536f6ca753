//go:build unix

package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// Times of the houses that are tested: short, so that deaths are found out soon.
const (
	beat  = 400 * time.Millisecond
	lease = 2 * time.Second // silence after which an agent counts as dead
)

// The configuration of a house. Nobody dies of silence in it: a machine that has much else to do must not make an agent dead. It syncs
// seldom: where a slow machine syncs a stream that is just being made, the race detector finds a race within the NATS server.
const configuration = `
broker: {sync_interval: 20s}
registry: {heartbeat_interval: 400ms, heartbeat_ttl: 1m, receipt_interval: 400ms}
log: {level: info, format: json}
limits: {payload_bytes: 2097152}
`

// The same, for tests that kill workers or stop them from speaking: they are missed soon.
var impatient = strings.Replace(configuration, "heartbeat_ttl: 1m", "heartbeat_ttl: "+lease.String(), 1)

// house is a broker with dispatchers, all in processes of their own, at addresses that stay the same over their deaths. Its agents
// note what they do in one file.
type house struct {
	t           testing.TB
	dir         string
	bin         string
	url         string // of the broker, for clients
	broker      *process
	dispatchers []*process
	fronts      []string // URLs of the HTTP fronts
	effects     string
	servers     []*process // HTTP agents
}

// newHouse is `reach up`: broker and dispatcher in one process. More is added to its configuration.
func newHouse(t testing.TB, more ...string) *house {
	t.Helper()
	return newHouseOf(t, configuration+strings.Join(more, "\n"))
}

func newHouseOf(t testing.TB, configuration string) *house {
	t.Helper()
	h := emptyHouse(t)
	h.write("reach.yaml", configuration)
	front := brokertest.FreeAddress(t)
	h.fronts = []string{"http://" + front}
	h.broker = h.program("reach up", "up", "--data", h.data(), "--nats", address(h.url), "--http", front)
	h.dispatchers = []*process{h.broker}
	h.startBroker()
	return h
}

// newHouseApart is a broker and n dispatchers, each a process of its own. The dispatchers reach the broker at a URL.
func newHouseApart(t testing.TB, n int) *house {
	t.Helper()
	return emptyHouse(t).apart(n)
}

func (h *house) apart(n int) *house {
	h.t.Helper()
	h.broker = h.program("the broker", "broker", "--data", h.data(), "--nats", address(h.url))
	h.startBroker()
	for range n {
		h.addDispatcher(h.url).start()
	}
	for _, d := range h.dispatchers {
		d.until("dispatcher up")
	}
	return h
}

func emptyHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), bin: buildPrograms(t), url: "nats://" + brokertest.FreeAddress(t)}
	h.effects = filepath.Join(h.dir, "effects")
	h.write("reach.yaml", configuration)
	return h
}

func (h *house) data() string { return h.file("data") }

func (h *house) file(name string) (path string) { return filepath.Join(h.dir, name) }

func (h *house) write(name, content string) (path string) {
	h.t.Helper()
	path = h.file(name)
	check(h.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// held is what an agent is asked that is to be at work until it is let go, whatever its capability.
func (h *house) held() (payload string, letGo func()) {
	return fmt.Sprintf(`{"gate":%q,"text":"a","command":"go test"}`, h.file("go")), func() { h.write("go", "") }
}

// program is reach with a command, and the configuration of this house.
func (h *house) program(name, command string, args ...string) *process {
	h.t.Helper()
	line := append([]string{filepath.Join(h.bin, "reach"), command, "-c", filepath.Join(h.dir, "reach.yaml")}, args...)
	p := newProcess(h.t, name, line...)
	p.env = []string{"XDG_STATE_HOME=" + filepath.Join(h.dir, "state")}
	return p
}

// addDispatcher is one more dispatcher, not started yet.
func (h *house) addDispatcher(url string) *process {
	h.t.Helper()
	front := brokertest.FreeAddress(h.t)
	d := h.program(fmt.Sprintf("dispatcher %d", len(h.dispatchers)+1), "dispatcher", "--nats", url, "--http", front)
	h.dispatchers, h.fronts = append(h.dispatchers, d), append(h.fronts, "http://"+front)
	return d
}

// startBroker starts the broker's process and waits until all in it answers.
func (h *house) startBroker() {
	h.t.Helper()
	h.broker.start()
	h.awaitBroker()
}

func (h *house) awaitBroker() {
	h.t.Helper()
	brokertest.Eventually(h.t, h.broker.name+" is ready", func() bool {
		var where struct {
			PID int `json:"pid"`
		}
		content, err := os.ReadFile(filepath.Join(h.data(), "endpoints.json"))
		return err == nil && schemas.Decode(content, &where) == nil && where.PID == h.broker.pid()
	})
}

// served describes agents of one worker.
type served struct {
	id           string
	kind         string // childAgent or httpAgent
	capabilities []string
	slots        int
	endpoint     string // of an HTTP agent
}

// startHTTPAgent starts an HTTP agent, in a process that no worker's death touches, and describes it.
func (h *house) startHTTPAgent(id string, slots int, capabilities ...string) served {
	h.t.Helper()
	at := brokertest.FreeAddress(h.t)
	p := newProcess(h.t, "agent "+id, self(h.t))
	p.env = h.agentVariables(id, httpAgent)
	p.env = append(p.env, addressVariable+"="+at)
	h.servers = append(h.servers, p)
	p.start()
	p.until("listening")
	return served{id: id, kind: httpAgent, capabilities: capabilities, slots: slots, endpoint: "http://" + at + "/run"}
}

// comesByItself starts an agent that needs no worker.
func (h *house) comesByItself(id, kind string, slots int, addresses []string) {
	h.t.Helper()
	p := newProcess(h.t, "agent "+id, self(h.t))
	p.env = append(h.agentVariables(id, kind),
		addressVariable+"="+strings.Join(addresses, ","), slotsVariable+"="+number(slots))
	h.servers = append(h.servers, p)
	p.start()
	p.until("listening")
}

func (h *house) agentVariables(id, kind string) []string {
	return []string{agentVariable + "=" + kind, nameVariable + "=" + id, effectsVariable + "=" + h.effects}
}

// child describes an agent that its worker starts, and keeps alive.
func child(id string, slots int, capabilities ...string) served {
	return served{id: id, kind: childAgent, capabilities: capabilities, slots: slots}
}

// worker is a worker that serves agents, not started yet.
func (h *house) worker(agents ...served) *process {
	h.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "broker: {url: %q}\nagents:\n", h.url)
	for _, a := range agents {
		fmt.Fprintf(&text, "  - agent_id: %s\n    max_concurrency: %d\n    transport: %s\n", a.id, a.slots, h.transport(a))
		fmt.Fprintf(&text, "    capabilities:\n")
		for _, c := range a.capabilities {
			fmt.Fprintf(&text, "      - {id: %s, max_concurrency: %d}\n", c, a.slots)
		}
	}
	name := "worker-" + agents[0].id
	return h.program(name, "worker", "--stop-grace", "200ms", "-f", h.write(name+".yaml", text.String()))
}

func (h *house) transport(a served) string {
	if a.kind == httpAgent {
		return fmt.Sprintf("{type: http, endpoint: %q, health_check: %q}", a.endpoint, a.endpoint)
	}
	var env []string
	for _, pair := range h.agentVariables(a.id, a.kind) {
		name, value, _ := strings.Cut(pair, "=")
		env = append(env, fmt.Sprintf("%s: %q", name, value))
	}
	return fmt.Sprintf("{type: subprocess, mode: keep_alive, command: [%q], env: {%s}}", self(h.t), strings.Join(env, ", "))
}

// startWorker starts a worker and waits until its agents are served, and every dispatcher knows them.
func (h *house) startWorker(agents ...served) *process {
	h.t.Helper()
	w := h.worker(agents...)
	w.start()
	w.until("worker up")
	for _, a := range agents {
		for _, front := range h.fronts {
			h.untilAgent(front, a.id, schemas.AgentOnline)
		}
	}
	return w
}

// untilAgent waits until a dispatcher knows an agent to be in a state.
func (h *house) untilAgent(front, id string, state schemas.AgentState) {
	h.t.Helper()
	c := newHTTPCaller(h.t, front)
	brokertest.Eventually(h.t, fmt.Sprintf("%s is %s at %s", id, state, front), func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), oneTry)
		defer cancel()
		var agent schemas.Agent
		_, answer, err := c.exchange(ctx, http.MethodGet, "/v1/agents/"+id, nil)
		return err == nil && schemas.Decode(answer, &agent) == nil && agent.State == state
	})
}

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	check(t, err)
	return path
}

func address(url string) string { return strings.TrimPrefix(url, "nats://") }
