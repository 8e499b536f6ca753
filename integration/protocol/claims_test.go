package protocol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/desk"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// An agent that claims its tasks over HTTP is a worker too, to those who dispatch: the desk speaks the protocol for it. So a front with
// its desk, and an agent that has nothing but HTTP, are one more implementation.

// claimingWorker is such a front and such an agent, in one process.
func claimingWorker(ctx context.Context, o options) error {
	log := zerolog.New(zerolog.NewConsoleWriter()).Level(zerolog.WarnLevel)
	conn, err := broker.Connect(ctx, broker.Config{URL: o.url, Logger: log})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Setup(ctx); err != nil {
		return err
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	d, err := desk.New(desk.Config{
		Conn: conn, Logger: log, RequestTimeout: o.timeout, FinishTimeout: 5 * time.Second, CancelWait: 2 * time.Second, Tick: 50 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	handler, err := httpfront.New(httpfront.Config{Service: registry{conn: conn}, Work: d, Logger: log})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	var all sync.WaitGroup
	all.Go(func() { _ = d.Run(serving) })
	all.Go(func() { _ = server.Serve(listener) })
	newClaimer("http://"+listener.Addr().String(), o).work(ctx)
	end()
	err = server.Close()
	all.Wait()
	return err
}

// registry is the one thing of a house that the front of a claiming agent needs beside its desk: who registers is passed on to the
// dispatchers, and written down as they would.
type registry struct {
	front.Service
	conn *broker.Conn
}

func (r registry) Register(ctx context.Context, registration *schemas.Registration) (*schemas.Registered, error) {
	answer, err := r.conn.RequestWithin(ctx, time.Second, broker.SubjectAPI("agent", "register"), schemas.MustEncode(registration))
	if err != nil {
		var refused *schemas.Error
		if errors.As(err, &refused) {
			return nil, refused
		}
		return nil, schemas.NewError(schemas.Unavailable, "", "nobody has answered")
	}
	registered := new(schemas.Registered)
	if err := schemas.Decode(answer, registered); err != nil {
		return nil, err
	}
	record := broker.AgentRecord{Registration: *registration, State: schemas.AgentOnline}
	if _, err := r.conn.Agents().Create(ctx, registration.AgentID, record, 0); err != nil && !errors.Is(err, broker.ErrExists) {
		return nil, err
	}
	return registered, nil
}

// claimer is the agent: it says everything again until it is answered, as docs/claims.md tells its author.
type claimer struct {
	options
	house    string
	instance string
	every    time.Duration // between two heartbeats

	registering sync.Mutex
	registered  time.Time

	held fronttest.Held[*held]
	runs sync.WaitGroup

	mu    sync.Mutex
	state schemas.AgentState
}

// held is a task that it has.
type held struct {
	message schemas.ReachMessage
	stop    context.CancelFunc
	done    atomic.Bool // its result is on its way
}

func newClaimer(house string, o options) *claimer {
	return &claimer{options: o, house: house, instance: schemas.NewTaskID(), state: schemas.AgentOnline}
}

// work serves until ctx ends; then it finishes what it has, and says goodbye.
func (c *claimer) work(ctx context.Context) {
	if !c.register(ctx) {
		return
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var all sync.WaitGroup
	all.Go(func() { c.beats(serving) })
	for ctx.Err() == nil {
		c.claim(ctx)
	}
	c.become(schemas.AgentDraining)
	c.runs.Wait()
	end()
	all.Wait()
	c.become(schemas.AgentOffline)
	c.beat(context.WithoutCancel(ctx))
}

func (c *claimer) register(ctx context.Context) bool {
	var registered schemas.Registered
	for ctx.Err() == nil {
		status, _ := c.post(ctx, "/v1/agents", 0, schemas.Registration{
			AgentID: c.agent, InstanceID: c.instance, Version: "1.0.0", Transport: schemas.Transport{Type: "claim"}, MaxConcurrency: c.slots,
			Capabilities: offers(c.capabilities, c.slots),
		}, &registered)
		if status < http.StatusMultipleChoices {
			c.every = schemas.Duration(registered.HeartbeatIntervalMS)
			return true
		}
		rest(ctx, 100*time.Millisecond)
	}
	return false
}

// registerAfter registers again, unless it has since it was told that nobody knows it.
func (c *claimer) registerAfter(ctx context.Context, asked time.Time) {
	c.registering.Lock()
	defer c.registering.Unlock()
	if c.registered.Before(asked) && c.register(ctx) {
		c.registered = time.Now()
	}
}

func (c *claimer) claim(ctx context.Context) {
	var claimed schemas.Claimed
	asked := time.Now()
	status, _ := c.post(ctx, "/v1/agents/"+c.agent+"/claims?wait=1s", 0, said{
		InstanceID: c.instance, ClaimID: schemas.NewTaskID(), Held: c.held.Sequences(), FreeTotal: c.free(),
	}, &claimed)
	switch {
	case status == http.StatusNotFound:
		c.registerAfter(ctx, asked)
	case status >= http.StatusMultipleChoices:
		rest(ctx, 100*time.Millisecond)
	}
	for _, task := range claimed.Assignments {
		c.begin(task)
	}
	c.obey(claimed.Stop)
	if status < http.StatusMultipleChoices {
		c.become(map[bool]schemas.AgentState{true: schemas.AgentDraining, false: schemas.AgentOnline}[claimed.Draining])
	}
}

// said is a claim, or a heartbeat: an empty list of what it holds is a list, too.
type said struct {
	InstanceID string             `json:"instance_id"`
	ClaimID    string             `json:"claim_id,omitzero"`
	State      schemas.AgentState `json:"state,omitzero"`
	Held       []uint64           `json:"held"`
	FreeTotal  int                `json:"free_total,omitzero"`
}

// free is how many tasks it can run beside those that run: one whose result nobody has taken yet runs no more.
func (c *claimer) free() int {
	free := c.slots
	for _, h := range c.held.All() {
		if !h.done.Load() {
			free--
		}
	}
	return free
}

func (c *claimer) begin(task schemas.ClaimedTask) {
	h := new(held)
	if schemas.Decode(task.Message, &h.message) != nil {
		return
	}
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	if !c.held.Add(task.Sequence, h) {
		h.stop()
		return
	}
	c.runs.Go(func() { c.run(ctx, h, task.Sequence) })
}

// run runs a task and brings its result, until somebody has taken it.
func (c *claimer) run(ctx context.Context, h *held, sequence uint64) {
	defer h.stop()
	result := schemas.Result{AgentID: c.agent, InstanceID: c.instance, State: schemas.StateCompleted}
	answer, err := echo(ctx, &worker.Task{Message: &h.message}, nil)
	h.done.Store(true)
	var failed *schemas.Error
	if result.Result = answer; errors.As(err, &failed) {
		result.State, result.Error, result.Ran = schemas.StateFailed, failed, schemas.RanYes
	}
	for ctx.Err() == nil {
		status, retryable := c.post(ctx, "/v1/tasks/"+h.message.TaskID+"/result", sequence, result, new(schemas.Answer))
		if status < http.StatusMultipleChoices || !retryable {
			break
		}
		rest(ctx, 100*time.Millisecond)
	}
	c.held.Drop(sequence)
}

func (c *claimer) obey(words []schemas.Stop) {
	for _, word := range words {
		if h, found := c.held.Of(word.Sequence); found {
			h.stop()
		}
	}
}

func (c *claimer) become(state schemas.AgentState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
}

// beats says that it lives, and that it works on what it has.
func (c *claimer) beats(ctx context.Context) {
	for ctx.Err() == nil {
		c.beat(ctx)
		for _, sequence := range c.held.Sequences() {
			c.names(ctx, sequence)
		}
		rest(ctx, c.every)
	}
}

func (c *claimer) beat(ctx context.Context) {
	c.mu.Lock()
	beat := said{InstanceID: c.instance, State: c.state}
	c.mu.Unlock()
	beat.Held = c.held.Sequences()
	var heard schemas.Heard
	asked := time.Now()
	if status, _ := c.post(ctx, "/v1/agents/"+c.agent+"/heartbeat", 0, beat, &heard); status == http.StatusNotFound {
		c.registerAfter(ctx, asked)
	}
	c.obey(heard.Stop)
}

func (c *claimer) names(ctx context.Context, sequence uint64) {
	h, found := c.held.Of(sequence)
	if !found {
		return
	}
	var heard schemas.Heard
	c.post(ctx, "/v1/tasks/"+h.message.TaskID+"/receipts", sequence, schemas.Receipt{AgentID: c.agent, InstanceID: c.instance}, &heard)
	c.obey(heard.Stop)
}

// post says something once. Without an answer the status is that of a server that is not there.
func (c *claimer) post(ctx context.Context, path string, token uint64, what, answer any) (status int, retryable bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.house+path, bytes.NewReader(schemas.MustEncode(what)))
	if err != nil {
		return http.StatusInternalServerError, false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Reach-Token", fmt.Sprint(token))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return http.StatusServiceUnavailable, true
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	refused := new(schemas.Error)
	switch {
	case err != nil:
		return http.StatusServiceUnavailable, true
	case response.StatusCode >= http.StatusMultipleChoices:
		_ = schemas.Decode(said, refused) // what cannot be read is not retryable
		return response.StatusCode, refused.Retryable
	case schemas.Decode(said, answer) != nil:
		return http.StatusInternalServerError, false
	}
	return response.StatusCode, false
}

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
