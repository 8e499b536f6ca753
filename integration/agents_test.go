//go:build unix

package integration

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// The variables that make the test binary an agent.
const (
	agentVariable   = "REACH_TEST_AGENT"   // what kind of agent
	effectsVariable = "REACH_TEST_EFFECTS" // the file to which it appends what it does
	nameVariable    = "REACH_TEST_NAME"    // how it calls itself there
	addressVariable = "REACH_TEST_ADDRESS" // where an HTTP agent listens; where one that comes by itself connects, several with commas
	slotsVariable   = "REACH_TEST_SLOTS"   // how many tasks one that comes by itself takes at once
)

// The kinds of agents: a child that is kept alive, a server of its own, and two that come by themselves: one claims over HTTP, one is a
// device on MQTT.
const (
	childAgent = "child"
	httpAgent  = "http"
	claimAgent = "claim"
	mqttAgent  = "mqtt"
)

// request is what an agent does: it takes its time, and says what it is told to. All members are optional.
type request struct {
	MS     int64           `json:"ms,omitzero"`     // how long it takes
	Answer schemas.Payload `json:"answer,omitzero"` // what it answers instead of what fits
	Bytes  int             `json:"bytes,omitzero"`  // how large its answer is, as JSON
	Fail   schemas.Code    `json:"fail,omitzero"`   // its error
	Chunks int             `json:"chunks,omitzero"` // how many pieces a child says before its answer
	Gate   string          `json:"gate,omitzero"`   // a file that it waits for, beyond its time; NAME in it is its own
	Poison bool            `json:"poison,omitzero"` // in the end a child kills its worker
}

func runAgent(kind string) (code int) {
	log, err := os.OpenFile(os.Getenv(effectsVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	a := &agent{name: os.Getenv(nameVariable), effects: log}
	addresses := strings.Split(os.Getenv(addressVariable), ",")
	switch kind {
	case httpAgent:
		err = a.listen(addresses[0])
	case claimAgent:
		newClaimer(a, addresses).work()
	case mqttAgent:
		newHandheld(a, addresses).work()
	default:
		err = a.obey(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// agent does what it is asked to and notes each execution, when it begins and when it has ended.
type agent struct {
	name    string
	effects *os.File
}

// probe is what the starter dictionary has an agent asked now and then to see whether it lives: that is nobody's task.
const probe = `{"text":"ping"}`

// execute is one execution. Its first line is the effect that must not happen twice.
func (a *agent) execute(ctx context.Context, taskID, capability string, payload []byte) (schemas.Payload, schemas.Code) {
	if string(payload) == probe {
		return a.answer(capability, payload), ""
	}
	a.note("began", taskID, capability)
	defer a.note("ended", taskID, capability)
	var asked request
	_ = schemas.Decode(payload, &asked) // of what is no object nothing special is asked
	select {
	case <-time.After(schemas.Duration(asked.MS)):
	case <-ctx.Done():
	}
	for gate := strings.Replace(asked.Gate, "NAME", a.name, 1); gate != "" && ctx.Err() == nil && !isThere(gate); {
		pause(ctx, 10*time.Millisecond)
	}
	if asked.Poison {
		_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
	}
	switch {
	case asked.Answer != nil:
		return asked.Answer, asked.Fail
	case asked.Bytes > 0:
		return schemas.Payload(`"` + strings.Repeat("x", asked.Bytes-2) + `"`), asked.Fail
	}
	return a.answer(capability, payload), asked.Fail
}

func isThere(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// note appends one line with one write, so that lines of several processes do not mix.
func (a *agent) note(what, taskID, capability string) {
	_, _ = fmt.Fprintf(a.effects, "%s %s %s %s %d\n", what, taskID, capability, a.name, time.Now().UnixNano())
}

func (a *agent) answer(capability string, payload []byte) schemas.Payload {
	switch capability {
	case "text_stats":
		var asked struct {
			Text string `json:"text"`
		}
		_ = schemas.Decode(payload, &asked)
		return fmt.Appendf(nil, `{"characters":%d,"words":%d,"lines":1}`, len(asked.Text), len(strings.Fields(asked.Text)))
	case "test_run":
		return schemas.Payload(`{"passed":true,"output":"ok"}`)
	}
	return payload
}

// line is what a worker says to a child: a task, or the end of one.
type line struct {
	TaskID     string          `json:"task_id"`
	Capability string          `json:"capability"`
	Payload    schemas.Payload `json:"payload"`
	Cancel     string          `json:"cancel"`
}

// obey serves the lines of a worker until there are no more.
func (a *agent) obey(in io.Reader, out io.Writer) error {
	var replying sync.Mutex
	var all sync.WaitGroup
	defer all.Wait()
	var running sync.Map // by task, its context.CancelFunc
	for lines := bufio.NewReader(in); ; {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var l line
		if err := schemas.Decode(text, &l); err != nil {
			return err
		}
		if stop, found := running.Load(l.Cancel); found {
			stop.(context.CancelFunc)()
		}
		if l.TaskID == "" {
			continue
		}
		ctx, stop := context.WithCancel(context.Background())
		running.Store(l.TaskID, stop)
		say := func(r reply) {
			replying.Lock()
			defer replying.Unlock()
			_, _ = out.Write(append(schemas.MustEncode(r), '\n'))
		}
		all.Go(func() {
			a.pieces(l, say)
			last := a.reply(ctx, l)
			running.Delete(l.TaskID) // before the worker can come with the task again
			stop()
			say(last)
		})
	}
}

// reply is a child's word on one task.
type reply struct {
	TaskID string          `json:"task_id"`
	Chunk  schemas.Payload `json:"chunk,omitzero"`
	Result schemas.Payload `json:"result,omitzero"`
	Error  *failure        `json:"error,omitzero"`
}

func (a *agent) reply(ctx context.Context, l line) reply {
	result, code := a.execute(ctx, l.TaskID, l.Capability, l.Payload)
	if ctx.Err() != nil {
		code = schemas.Cancelled
	}
	if code != "" {
		return reply{TaskID: l.TaskID, Error: &failure{code, "as it was told to"}}
	}
	return reply{TaskID: l.TaskID, Result: result}
}

// pieces says what a streaming agent says before its answer: the numbers from 0 on.
func (a *agent) pieces(l line, say func(reply)) {
	var asked request
	_ = schemas.Decode(l.Payload, &asked)
	for n := range asked.Chunks {
		say(reply{TaskID: l.TaskID, Chunk: fmt.Append(nil, n)})
	}
}

// failure is how an agent says that it failed.
type failure struct {
	Code    schemas.Code `json:"code"`
	Message string       `json:"message"`
}

// listen serves POST requests until the process ends.
func (a *agent) listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	return http.Serve(listener, http.HandlerFunc(a.serve))
}

func (a *agent) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		return // the health check
	}
	payload, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	result, code := a.execute(r.Context(), r.Header.Get("Reach-Task-Id"), r.Header.Get("Reach-Capability"), payload)
	w.Header().Set("Content-Type", "application/json")
	if code == schemas.Unavailable { // as one says it that has not begun
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if code != "" {
		w.WriteHeader(http.StatusInternalServerError)
		result = schemas.MustEncode(struct {
			Error failure `json:"error"`
		}{failure{code, "as it was told to"}})
	}
	_, _ = w.Write(result)
}

// effect is one execution as its agent noted it.
type effect struct {
	taskID, capability, agent string
	began, ended              time.Time // ended is zero for one that did not come to its end
}

// readEffects reads what agents have noted so far.
func readEffects(t testing.TB, file string) []*effect {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []*effect
	running := make(map[string]*effect)
	for line := range strings.Lines(string(content)) {
		var what string
		var nanos int64
		e := new(effect)
		if _, err := fmt.Sscan(line, &what, &e.taskID, &e.capability, &e.agent, &nanos); err != nil {
			t.Fatalf("an agent noted %q: %v", line, err)
		}
		if what == "began" {
			e.began = time.Unix(0, nanos)
			all = append(all, e)
			running[e.taskID+e.agent] = e
			continue
		}
		cmp.Or(running[e.taskID+e.agent], e).ended = time.Unix(0, nanos)
	}
	return all
}

// effectsOf counts the executions of each task.
func effectsOf(all []*effect) map[string]int {
	count := make(map[string]int)
	for _, e := range all {
		count[e.taskID]++
	}
	return count
}
