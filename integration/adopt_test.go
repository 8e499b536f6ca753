package integration

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/desk"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/dispatcher/front/natsfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/httpagent"
	"github.com/agentreach/agent-reach/worker/adopt"
)

// orphanage is a house with an HTTP front, whose agents have no workers.
type orphanage struct {
	t      *testing.T
	broker *brokertest.Broker
	d      *dispatcher.Dispatcher
	url    string
	drives atomic.Int64 // how often an agent was adopted
}

func newOrphanage(t *testing.T) *orphanage {
	t.Helper()
	o := &orphanage{t: t, broker: brokertest.New(t)}
	conn := o.broker.Conn(t)
	var err error
	o.d, err = dispatcher.New(conn, dispatcher.Config{
		HeartbeatInterval: 200 * time.Millisecond, HeartbeatTTL: time.Minute, DisconnectGrace: 3 * time.Second, Tick: 20 * time.Millisecond,
	})
	must(t, err)
	untilTheEnd(t, o.d.Run)
	<-o.d.Ready()
	api, err := natsfront.Serve(conn, o.d, natsfront.Config{})
	must(t, err)
	t.Cleanup(api.Close)
	work, err := desk.New(desk.Config{Conn: conn})
	must(t, err)
	untilTheEnd(t, work.Run)
	handler, err := httpfront.New(httpfront.Config{Service: o.d, Work: work})
	must(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// untilTheEnd runs something until the test ends, or stop is called.
func untilTheEnd(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	var stopped atomic.Bool
	stop = func() {
		if !stopped.Swap(true) {
			cancel()
			must(t, <-done)
		}
	}
	t.Cleanup(stop)
	return stop
}

// adopter runs one that drives HTTP agents; it can be killed by closing its connection.
func (o *orphanage) adopter(conn *broker.Conn) (stop func()) {
	return untilTheEnd(o.t, func(ctx context.Context) error {
		return adopt.Run(ctx, adopt.Config{
			Conn: conn, Interval: 20 * time.Millisecond, HoldOff: 100 * time.Millisecond, Silence: 500 * time.Millisecond,
			Worker: worker.Config{HeartbeatGap: 20 * time.Millisecond, DrainTimeout: time.Second},
			Drive: func(r *schemas.Registration) (adopt.Agent, error) {
				o.drives.Add(1)
				return httpagent.New(httpagent.Config{Endpoint: r.Transport.Endpoint, HealthCheck: r.Transport.HealthCheck})
			},
		})
	})
}

// post sends a body and gives the answer.
func (o *orphanage) post(path, body string) string {
	o.t.Helper()
	request, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, o.url+path, strings.NewReader(body))
	must(o.t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(o.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must(o.t, err)
	return string(answer)
}

// parrot is an agent that says its own name; it is well until it is told otherwise.
func parrot(t *testing.T, name string) (address string, ill *atomic.Bool) {
	t.Helper()
	ill = new(atomic.Bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz" && ill.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/execute":
			_, _ = io.WriteString(w, `{"status":"ok","result":"`+name+`"}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, ill
}

// says waits until an invocation is answered so.
func (o *orphanage) says(want string) {
	o.t.Helper()
	var got string
	brokertest.Eventually(o.t, want, func() bool {
		got = o.post("/invoke", `{"capability":"echo","payload":1}`)
		return strings.Contains(got, want)
	})
}

func TestAnAgentThatPostsItselfIsAdopted(t *testing.T) {
	t.Parallel()
	o := newOrphanage(t)
	const away = `"status":"error"`
	first, ill := parrot(t, "polly")
	card := func(address string) string {
		return fmt.Sprintf(`{"endpoint_id":"parrot","address":"%s/execute","health_check":"%s/healthz","capabilities":["echo"],"cost_weight":0.5}`, address, address)
	}
	if got := o.post("/register", card(first)); got != `{"status":"ok","state":"online"}` {
		t.Fatalf("registered %s", got)
	}
	o.says(away) // while nobody adopts
	one := o.broker.Conn(t)
	o.adopter(one)
	o.says(`"data":"polly"`)
	agent, err := o.d.Agent(t.Context(), "parrot")
	must(t, err)
	if r := agent.Registration; string(r.Metadata) != `{"cost_weight":0.5}` || !r.Adopt || r.InstanceID == "" {
		t.Errorf("registered %+v", r)
	}

	ill.Store(true)
	o.says(away)
	if now, err := o.d.Agent(t.Context(), "parrot"); err != nil || now.State != schemas.AgentDegraded {
		t.Errorf("while it is ill it is %+v (%v)", now, err)
	}
	ill.Store(false)
	o.says(`"data":"polly"`)

	o.post("/register", card(first)) // it says nothing new
	if got := o.post("/invoke", `{"capability":"echo","payload":1}`); !strings.Contains(got, `"data":"polly"`) {
		t.Errorf("invoked right after it has registered again: %s", got)
	}
	if now, err := o.d.Agent(t.Context(), "parrot"); err != nil || now.Registration.InstanceID != agent.Registration.InstanceID || o.drives.Load() != 1 {
		t.Errorf("adopted %d times, and registered %+v (%v)", o.drives.Load(), now, err)
	}

	second, _ := parrot(t, "jacko") // it has moved
	o.post("/register", card(second))
	o.says(`"data":"jacko"`)

	brokertest.Eventually(t, "its own load counts", func() bool {
		if got := o.post("/heartbeat", `{"endpoint_id":"parrot","load_avg":0.25}`); got != `{"status":"ok"}` {
			t.Errorf("heartbeat %s", got)
		}
		agent, err := o.d.Agent(t.Context(), "parrot")
		return err == nil && agent.LoadAvg != nil && *agent.LoadAvg == 0.25
	})
	o.says(away) // it has begun to say that it lives, and does so no more
	brokertest.Eventually(t, "it works while it says that it lives", func() bool {
		o.post("/heartbeat", `{"endpoint_id":"parrot"}`)
		return strings.Contains(o.post("/invoke", `{"capability":"echo","payload":1}`), `"data":"jacko"`)
	})
}

func TestATaskIsTakenRightAfterItsAgentHasPostedItself(t *testing.T) {
	t.Parallel()
	o := newOrphanage(t)
	o.adopter(o.broker.Conn(t))
	for _, name := range []string{"polly", "jacko"} { // the second has moved
		address, _ := parrot(t, name)
		o.post("/register", fmt.Sprintf(`{"endpoint_id":"parrot","address":"%s/execute","capabilities":["echo"]}`, address))
		if got := o.post("/invoke", `{"capability":"echo","payload":1}`); !strings.Contains(got, `"status":"ok"`) {
			t.Errorf("invoked right after %s has posted itself: %s", name, got)
		}
		o.says(`"data":"` + name + `"`)
	}
}

func TestAnotherAdoptsWhenOneHasGone(t *testing.T) {
	t.Parallel()
	o := newOrphanage(t)
	address, _ := parrot(t, "polly")
	o.post("/v1/agents", fmt.Sprintf(`{"agent_id":"parrot","version":"1.0.0","transport":{"type":"http","endpoint":"%s/execute"},"capabilities":["echo"]}`, address))
	one, two := o.broker.Conn(t), o.broker.Conn(t)
	stop := o.adopter(one)
	o.says(`"data":"polly"`)
	o.adopter(two)
	before, err := o.d.Agent(t.Context(), "parrot")
	must(t, err)
	stop()
	brokertest.Eventually(t, "the other serves it", func() bool {
		now, err := o.d.Agent(t.Context(), "parrot")
		return err == nil && now.State == schemas.AgentOnline && now.Registration.InstanceID != before.Registration.InstanceID
	})
	o.says(`"data":"polly"`)
}

func TestAnAgentWithAWorkerIsNotTakenOver(t *testing.T) {
	t.Parallel()
	o := newOrphanage(t)
	conn := o.broker.Conn(t)
	own, err := worker.New(worker.Config{Conn: conn, Agents: []worker.Agent{{
		Registration: schemas.Registration{AgentID: "parrot", Capabilities: []schemas.Offer{{ID: "echo"}}},
		Handler: worker.HandlerFunc(func(context.Context, *worker.Task, worker.Emit) (schemas.Payload, error) {
			return schemas.Payload(`"its own"`), nil
		}),
	}}})
	must(t, err)
	untilTheEnd(t, own.Run)
	<-own.Ready()
	o.adopter(o.broker.Conn(t))
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	must(t, closed.Close())
	got := o.post("/register", `{"endpoint_id":"parrot","address":"http://`+closed.Addr().String()+`","capabilities":["echo"]}`)
	if !strings.Contains(got, `"code":"ALREADY_EXISTS"`) {
		t.Errorf("registered %s", got)
	}
	o.says(`"data":"its own"`)
}
