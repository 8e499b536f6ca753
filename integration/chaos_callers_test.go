//go:build unix

package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// sdkCaller is the SDK for callers.
type sdkCaller struct{ client *client.Client }

func newSDKCaller(t testing.TB, url string) *sdkCaller {
	t.Helper()
	c, err := client.Connect(t.Context(), client.Config{URL: url, Logger: zerolog.Nop()})
	check(t, err)
	t.Cleanup(c.Close)
	return &sdkCaller{c}
}

func (c *sdkCaller) submit(ctx context.Context, message []byte) (*schemas.Task, error) {
	m := new(schemas.ReachMessage)
	if err := schemas.Decode(message, m); err != nil {
		return nil, err
	}
	return c.client.Submit(ctx, m)
}

func (c *sdkCaller) get(ctx context.Context, taskID string) (*schemas.Task, error) {
	return c.client.Task(ctx, taskID)
}

func (c *sdkCaller) cancel(ctx context.Context, taskID string) (*schemas.Task, error) {
	return c.client.Cancel(ctx, taskID)
}

// cliCaller runs the command line, a process for each question.
type cliCaller struct{ program, url string }

func (c *cliCaller) submit(ctx context.Context, message []byte) (*schemas.Task, error) {
	m := new(schemas.ReachMessage)
	if err := schemas.Decode(message, m); err != nil {
		return nil, err
	}
	args := []string{"task", "submit", m.Capability, "-d", string(m.Payload)}
	for flag, value := range map[string]string{"--msg-id": m.MsgID, "--qos": string(m.QualityOfService), "--callback": m.Callback} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	return c.run(ctx, args...)
}

func (c *cliCaller) get(ctx context.Context, taskID string) (*schemas.Task, error) {
	return c.run(ctx, "task", "get", taskID)
}

func (c *cliCaller) cancel(ctx context.Context, taskID string) (*schemas.Task, error) {
	return c.run(ctx, "task", "cancel", taskID)
}

func (c *cliCaller) run(ctx context.Context, args ...string) (*schemas.Task, error) {
	command := exec.CommandContext(ctx, c.program, append(args, "-o", "json", "--server", c.url)...)
	command.Env = cleanEnviron()
	answer, failed := command.Output()
	task := new(schemas.Task)
	if schemas.Decode(answer, task) == nil && task.TaskID != "" {
		return task, nil
	}
	refused := new(schemas.Error)
	if schemas.Decode(answer, refused) == nil && refused.Code != "" {
		return nil, refused
	}
	return nil, fmt.Errorf("%w with %q", failed, answer)
}

// crowd is customers of every front, who place orders and follow them.
type crowd struct {
	s       *stage
	history *history
	ways    map[string]caller
	names   []string
	phone   *phoneCaller
	callee  *callee
	sdk     *sdkCaller
	web     []*httpCaller
	ctx     context.Context // ends when nothing more is ordered
	rest    context.CancelFunc
	giveUp  context.CancelFunc
	all     sync.WaitGroup

	mu     sync.Mutex
	orders []*order
}

const customers = 12

// openDoors lets customers in; close sends them home.
func (s *stage) openDoors(r *rand.Rand, atMost time.Duration) *crowd {
	s.t.Helper()
	c := &crowd{s: s, history: newHistory(s.t), sdk: newSDKCaller(s.t, s.wire().url()), callee: s.callee}
	c.phone = newPhoneCaller(s.t, s.tunnel(), c.history)
	c.ways = map[string]caller{
		"nats": newNATSCaller(s.t, s.wire().url()), "sdk": c.sdk,
		"cli": &cliCaller{filepath.Join(s.bin, "reach"), s.url},
	}
	c.names = []string{"nats", "nats", "sdk", "sdk", "cli"}
	for n, front := range s.fronts {
		name := fmt.Sprintf("http %d", n+1)
		c.web = append(c.web, newHTTPCaller(s.t, front))
		c.ways[name], c.names = c.web[n], append(c.names, name, name)
	}
	deadline, giveUp := context.WithTimeout(context.Background(), atMost)
	c.giveUp = giveUp
	c.ctx, c.rest = context.WithCancel(context.Background())
	s.t.Cleanup(func() {
		c.giveUp()
		c.rest()
		c.all.Wait()
	})
	for n := range customers {
		one := &customer{crowd: c, n: n, r: rand.New(rand.NewPCG(r.Uint64(), uint64(n)))}
		c.all.Go(func() { one.shop(deadline) })
	}
	return c
}

// close lets every customer bring its last order home.
func (c *crowd) close() []*order {
	c.rest()
	c.all.Wait()
	c.giveUp()
	return c.orders
}

// customer places one order after the other. Its randomness is its own.
type customer struct {
	*crowd
	n int
	r *rand.Rand
}

func (c *customer) shop(ctx context.Context) {
	for i := 0; c.ctx.Err() == nil; i++ {
		o := c.order(i)
		if o.key != "" && c.r.IntN(6) == 0 {
			c.placeTwice(ctx, o)
		} else {
			c.place(ctx, o)
		}
		if id := o.taskID(); id != "" {
			c.follow(ctx, o, id)
		}
		c.mu.Lock()
		c.orders = append(c.orders, o)
		c.mu.Unlock()
		pause(c.ctx, upTo(c.r, 100*time.Millisecond))
	}
}

// order thinks of something to want.
func (c *customer) order(i int) *order {
	m := schemas.ReachMessage{
		MsgID: fmt.Sprintf("customer-%d-%d", c.n, i), Capability: pick(c.r, abilities),
		QualityOfService: pick(c.r, []schemas.QualityOfService{schemas.QoSStandard, schemas.QoSStandard, schemas.QoSRealtime, schemas.QoSComplete}),
	}
	if priority := c.r.IntN(10); priority != schemas.DefaultPriority {
		m.Priority = &priority
	}
	passes, ms := false, c.r.IntN(200)
	if c.r.IntN(10) == 0 {
		ms *= 10
	}
	asked := fmt.Sprintf(`{"ms":%d,"text":"%d of %d","command":"go test"`, ms, i, c.n)
	switch c.r.IntN(20) {
	case 0:
		asked += `,"fail":"INTERNAL"`
	case 1:
		passes, m.ExpiresAt = true, schemas.At(time.Now().Add(2*time.Second)) // whose repeat comes when it has passed
	case 2:
		m.RunTimeoutMS = 100
	case 3, 4, 5:
		m.ResponseMode, m.Capability = schemas.ModeStream, "echo"
		asked += fmt.Sprintf(`,"chunks":%d`, 1+c.r.IntN(60))
	case 6, 7, 8:
		m.MsgID = ""
	}
	if c.r.IntN(4) == 0 {
		m.Callback = c.callee.url + "/hook"
	}
	m.Payload = schemas.Payload(asked + "}")
	return &order{key: m.MsgID, message: schemas.MustEncode(m), tasks: make(map[string]bool), passes: passes}
}

// place submits until the order is accepted, each time somewhere else, or once if it has no key.
func (c *customer) place(ctx context.Context, o *order) {
	for ctx.Err() == nil {
		task, err := c.submitOnce(ctx, o.key, o.message)
		if err == nil {
			c.mu.Lock()
			o.tasks[task.TaskID] = true
			c.mu.Unlock()
			return
		}
		c.mu.Lock()
		o.refused = err
		c.mu.Unlock()
		if o.key == "" || !temporary(err) {
			return
		}
		pause(ctx, repeatWait)
	}
}

// submitOnce submits somewhere. A phone takes nothing without a key, since it says everything until it is answered.
func (c *customer) submitOnce(ctx context.Context, key string, message []byte) (*schemas.Task, error) {
	if key != "" && c.r.IntN(5) == 0 {
		ctx, cancel := context.WithTimeout(ctx, oneTry)
		defer cancel()
		return c.phone.submit(ctx, message)
	}
	who := pick(c.r, c.names)
	return c.noted(ctx, who, func(ctx context.Context) (*schemas.Task, error) { return c.ways[who].submit(ctx, message) })
}

// noted asks once, and notes the answer.
func (c *customer) noted(ctx context.Context, who string, ask func(context.Context) (*schemas.Task, error)) (*schemas.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	asked := time.Now()
	task, err := ask(ctx)
	if err == nil {
		c.history.note(who, asked, task)
	}
	return task, err
}

// placeTwice has two people place the same order at once, and a third one another order with the same key.
func (c *customer) placeTwice(ctx context.Context, o *order) {
	var both sync.WaitGroup
	for n := range 2 {
		other := &customer{crowd: c.crowd, n: c.n, r: rand.New(rand.NewPCG(c.r.Uint64(), uint64(n)))}
		both.Go(func() { other.place(ctx, o) })
	}
	both.Wait()
	if len(o.tasks) == 0 {
		return
	}
	m := new(schemas.ReachMessage)
	check(c.s.t, schemas.Decode(o.message, m))
	m.Payload = schemas.Payload(`{"text":"something else","command":"make"}`)
	if task, err := c.submitOnce(ctx, "", schemas.MustEncode(m)); err == nil {
		c.s.t.Errorf("another order with the key %s was accepted as task %s", o.key, task.TaskID)
	} else if e := schemas.AsError(err); !temporary(err) && e.Reason != schemas.ReasonKeyReused {
		c.s.t.Errorf("another order with the key %s is refused with %v", o.key, err)
	}
}

// follow does what customers do with their tasks: forget them, look again and again, read along, or think better of it.
func (c *customer) follow(ctx context.Context, o *order, id string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if bytes.Contains(o.message, []byte(`"chunks"`)) {
		c.read(ctx, id)
		return
	}
	switch c.r.IntN(8) {
	case 0, 1:
	case 2:
		c.cancel(ctx, id)
	case 3:
		c.read(ctx, id)
	default:
		c.look(ctx, id)
	}
}

func (c *customer) look(ctx context.Context, id string) {
	for ctx.Err() == nil {
		who := pick(c.r, c.names)
		task, err := c.noted(ctx, who, func(ctx context.Context) (*schemas.Task, error) { return c.ways[who].get(ctx, id) })
		if err == nil && task.State.Terminal() {
			return
		}
		c.complain(who, id, err)
		pause(ctx, upTo(c.r, 200*time.Millisecond))
	}
}

// complain reports an answer that says of an accepted task anything but "not now".
func (c *customer) complain(who, id string, err error) {
	if err != nil && !temporary(err) {
		c.s.t.Errorf("%s is told of the accepted task %s: %v", who, id, err)
	}
}

func (c *customer) cancel(ctx context.Context, id string) {
	pause(ctx, upTo(c.r, 150*time.Millisecond))
	who := pick(c.r, c.names)
	_, err := c.noted(ctx, who, func(ctx context.Context) (*schemas.Task, error) { return c.ways[who].cancel(ctx, id) })
	c.complain(who, id, err)
}

// read reads a task's stream to its end, however often it breaks.
func (c *customer) read(ctx context.Context, id string) {
	if c.r.IntN(2) == 0 {
		c.readSDK(ctx, id)
	} else {
		c.readWeb(ctx, id)
	}
}

func (c *customer) readSDK(ctx context.Context, id string) {
	l := &listener{t: c.s.t, who: "a reader of the sdk", taskID: id}
	stream, err := c.sdk.client.Follow(ctx, id, 0)
	if err != nil {
		if ctx.Err() == nil {
			c.complain(l.who, id, err)
		}
		return
	}
	defer stream.Close()
	for {
		asked := time.Now()
		event, err := stream.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			c.history.streamed()
			return
		case err != nil:
			if ctx.Err() == nil {
				c.complain(l.who, id, err)
			}
			return
		case event.Chunk != nil:
			l.chunk(event.Chunk)
		case event.Notice != nil:
			l.notice(event.Notice)
		case event.Task != nil && event.Task.State.Terminal():
			c.history.note(l.who, asked, event.Task)
		}
	}
}

// readWeb comes back with the number of its last chunk, each time to another front.
func (c *customer) readWeb(ctx context.Context, id string) {
	l := &listener{t: c.s.t, who: "a reader over HTTP", taskID: id}
	for at := c.r.IntN(len(c.web)); ctx.Err() == nil; at++ {
		if c.readOnce(ctx, c.web[at%len(c.web)], l) {
			c.history.streamed()
			return
		}
		pause(ctx, repeatWait)
	}
}

// readOnce reads until the connection ends, and reports whether the task has. Some readers leave before.
func (c *customer) readOnce(ctx context.Context, from *httpCaller, l *listener) (ended bool) {
	if c.r.IntN(3) == 0 {
		var leave context.CancelFunc
		ctx, leave = context.WithTimeout(ctx, upTo(c.r, 300*time.Millisecond))
		defer leave()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from.front+"/v1/tasks/"+l.taskID+"/events", http.NoBody)
	check(c.s.t, err)
	r.Header.Set("Last-Event-ID", number(uint64(l.last)))
	asked := time.Now()
	response, err := from.client.Do(r)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		if response.StatusCode < http.StatusInternalServerError && response.StatusCode != http.StatusTooManyRequests {
			c.s.t.Errorf("a reader of the accepted task %s gets status %d", l.taskID, response.StatusCode)
		}
		return false
	}
	name := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if event, found := strings.CutPrefix(lines.Text(), "event: "); found {
			name = event
		}
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found && c.hear(l, name, []byte(data), asked) {
			return true
		}
	}
	return false
}

// hear takes one event, and reports whether it is the last.
func (c *customer) hear(l *listener, name string, data []byte, asked time.Time) (last bool) {
	switch name {
	case "chunk":
		chunk := new(schemas.Chunk)
		check(c.s.t, schemas.Decode(data, chunk))
		l.chunk(chunk)
	case "notice":
		notice := new(schemas.Notice)
		check(c.s.t, schemas.Decode(data, notice))
		l.notice(notice)
	case "done":
		task := new(schemas.Task)
		check(c.s.t, schemas.Decode(data, task))
		c.history.note(l.who, asked, task)
		return true
	}
	return false
}
