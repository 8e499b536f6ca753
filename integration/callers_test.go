//go:build unix

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// caller is a plain client of the house. Its errors are *schemas.Error where the house has answered; any other says nothing of what
// became of the request.
type caller interface {
	submit(ctx context.Context, message []byte) (*schemas.Task, error)
	get(ctx context.Context, taskID string) (*schemas.Task, error)
	cancel(ctx context.Context, taskID string) (*schemas.Task, error)
}

// httpCaller speaks to one HTTP front.
type httpCaller struct {
	front  string
	client *http.Client
}

func newHTTPCaller(t testing.TB, front string) *httpCaller {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &httpCaller{front: front, client: &http.Client{Transport: transport}}
}

func (c *httpCaller) submit(ctx context.Context, message []byte) (*schemas.Task, error) {
	return c.ask(ctx, http.MethodPost, "/v1/tasks", message)
}

func (c *httpCaller) get(ctx context.Context, taskID string) (*schemas.Task, error) {
	return c.ask(ctx, http.MethodGet, "/v1/tasks/"+taskID, nil)
}

func (c *httpCaller) cancel(ctx context.Context, taskID string) (*schemas.Task, error) {
	return c.ask(ctx, http.MethodDelete, "/v1/tasks/"+taskID, nil)
}

func (c *httpCaller) ask(ctx context.Context, method, path string, body []byte) (*schemas.Task, error) {
	status, answer, err := c.exchange(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if status >= http.StatusMultipleChoices {
		problem := &schemas.Error{}
		if err := schemas.Decode(answer, problem); err != nil {
			return nil, fmt.Errorf("status %d with %q", status, answer)
		}
		return nil, problem
	}
	task := new(schemas.Task)
	return task, schemas.Decode(answer, task)
}

func (c *httpCaller) exchange(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.front+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := c.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// natsCaller is nats.go, and nothing of the house.
type natsCaller struct{ nc *nats.Conn }

func newNATSCaller(t testing.TB, url string) *natsCaller {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectBufSize(-1))
	check(t, err)
	t.Cleanup(nc.Close)
	return &natsCaller{nc: nc}
}

func (c *natsCaller) submit(ctx context.Context, message []byte) (*schemas.Task, error) {
	return c.ask(ctx, "task.submit", message)
}

func (c *natsCaller) get(ctx context.Context, taskID string) (*schemas.Task, error) {
	return c.ask(ctx, "task.get", schemas.MustEncode(schemas.TaskRef{TaskID: taskID}))
}

func (c *natsCaller) cancel(ctx context.Context, taskID string) (*schemas.Task, error) {
	return c.ask(ctx, "task.cancel", schemas.MustEncode(schemas.TaskRef{TaskID: taskID}))
}

func (c *natsCaller) ask(ctx context.Context, verb string, body []byte) (*schemas.Task, error) {
	reply, err := c.nc.RequestWithContext(ctx, "reach.api."+verb, body)
	if err != nil {
		return nil, err
	}
	if reply.Header.Get("Nats-Service-Error-Code") != "" {
		refused := new(schemas.Error)
		if err := schemas.Decode(reply.Data, refused); err != nil {
			return nil, fmt.Errorf("an error that cannot be read: %w", err)
		}
		return nil, refused
	}
	task := new(schemas.Task)
	return task, schemas.Decode(reply.Data, task)
}

// callers are one caller for each way into the house.
func (h *house) callers() []caller {
	h.t.Helper()
	all := []caller{newNATSCaller(h.t, h.url)}
	for _, front := range h.fronts {
		all = append(all, newHTTPCaller(h.t, front))
	}
	return all
}

// order is what somebody wants done once, and what was said to that.
type order struct {
	key     string // makes it safe to repeat; empty for one that is never repeated
	message []byte
	tasks   map[string]bool // every task_id that an answer named
	refused error           // the last answer that was none
	passes  bool            // its time may pass before it is accepted
}

// passed reports whether it was refused since its time had passed.
func (o *order) passed() bool {
	return o.passes && len(o.tasks) == 0 && schemas.AsError(o.refused).Reason == schemas.ReasonExpired
}

// unhurried is a run limit, in milliseconds, that no task of these tests reaches however slow the machine is: the 7.5 s of what the
// dictionary expects to take 5 s pass while a test looks at a task that is held.
const unhurried = 60_000

func newOrder(key, capability, payload string) *order {
	m := schemas.ReachMessage{MsgID: key, Capability: capability, Payload: schemas.Payload(payload), RunTimeoutMS: unhurried}
	return &order{key: key, message: schemas.MustEncode(m), tasks: make(map[string]bool)}
}

// taskID is the task of an order that was accepted; empty if it was not.
func (o *order) taskID() string {
	for id := range o.tasks {
		return id
	}
	return ""
}

// Times of a caller that has to repeat itself.
const (
	oneTry     = 2 * time.Second
	repeatWait = 50 * time.Millisecond
)

// place submits until the order is accepted, each time somewhere else, or once if it has no key. It gives up when ctx ends.
func (o *order) place(ctx context.Context, r *rand.Rand, all []caller) {
	for at := r.IntN(len(all)); ctx.Err() == nil; at++ {
		try, cancel := context.WithTimeout(ctx, oneTry)
		task, err := all[at%len(all)].submit(try, o.message)
		cancel()
		if err == nil {
			o.tasks[task.TaskID] = true
			return
		}
		o.refused = err
		if o.key == "" || !temporary(err) {
			return
		}
		pause(ctx, repeatWait)
	}
}

// temporary reports whether the same request may be accepted a moment later.
func temporary(err error) bool {
	var refused *schemas.Error
	return !errors.As(err, &refused) || refused.Retryable || refused.Code == schemas.Cancelled // the caller's own time was up
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// newRand is a test's own source of chance. It tells how to get the same again.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	of := *seed
	if of == 0 {
		of = rand.Uint64()
	}
	t.Logf("the random choices are those of -seed=%d", of)
	return rand.New(rand.NewPCG(of, 0))
}

// load is a number of callers who place one order after the other.
type load struct {
	h      *house
	ctx    context.Context // of the callers
	rest   context.CancelFunc
	giveUp context.CancelFunc
	all    sync.WaitGroup
	mu     sync.Mutex
	orders []*order
}

// demand is what the callers of a load ask for.
type demand struct {
	callers      int
	every        time.Duration // of one caller: from one order to the next
	capabilities []string
	most         time.Duration // that an agent takes for it
}

// startLoad starts callers; stop ends them and returns what they have ordered.
func startLoad(h *house, r *rand.Rand, d demand) *load {
	ctx, rest := context.WithCancel(context.Background())
	deadline, giveUp := context.WithTimeout(context.Background(), 2*time.Minute)
	l := &load{h: h, ctx: ctx, rest: rest, giveUp: giveUp}
	h.t.Cleanup(func() {
		giveUp()
		rest()
		l.all.Wait()
	})
	ways := h.callers()
	for n := range d.callers {
		own := rand.New(rand.NewPCG(r.Uint64(), uint64(n)))
		l.all.Go(func() { l.call(deadline, own, d, ways, n) })
	}
	return l
}

func (l *load) call(deadline context.Context, r *rand.Rand, d demand, ways []caller, n int) {
	for i := 0; l.ctx.Err() == nil; i++ {
		key := fmt.Sprintf("caller-%d-%d", n, i)
		if r.IntN(5) == 0 {
			key = ""
		}
		capability := d.capabilities[r.IntN(len(d.capabilities))]
		ms := r.Int64N(d.most.Milliseconds() + 1)
		o := newOrder(key, capability, fmt.Sprintf(`{"ms":%d,"text":"%d of %d","command":"go test"}`, ms, i, n))
		o.place(deadline, r, ways)
		l.mu.Lock()
		l.orders = append(l.orders, o)
		l.mu.Unlock()
		pause(l.ctx, d.every/2+time.Duration(r.Int64N(int64(d.every))))
	}
}

// stop lets every caller bring its last order home.
func (l *load) stop() []*order {
	l.rest()
	l.all.Wait()
	l.giveUp()
	return l.orders
}
