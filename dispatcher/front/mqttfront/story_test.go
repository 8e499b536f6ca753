package mqttfront_test

import (
	"flag"
	"fmt"
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

// serves is a registration for two capabilities, neither of which ends a task for a machine that is slow.
const serves = `{"version":"1.0.0","instance_id":"app-1","capabilities":[{"id":"test_run","max_concurrency":4},` +
	`{"id":"echo","max_concurrency":4,"timeout_hint_ms":600000}]}`

func TestAPhoneSubmitsAndAnotherServes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	server := newPhone(h, "server", func(p *phone) {
		p.run = func(p *phone, e *errand) { p.finish(e, e.payload()) }
	})
	server.register(serves)
	caller := newPhone(h, "caller")
	const literal = `{"n":9007199254740993,"f":1.0,"e":1e2}`
	caller.submit("a", `{"capability":"echo","payload":`+literal+`}`)
	task := caller.end("a")
	if task.State != schemas.StateCompleted || string(task.Result) != literal || task.AgentID != "server" {
		t.Errorf("ended as %s with %s by %s", task.State, task.Result, task.AgentID)
	}
	brokertest.Eventually(t, "the end is acknowledged", func() bool {
		caller.mu.Lock()
		heard := caller.heardEnds[task.TaskID]
		caller.mu.Unlock()
		caller.submit("a", `{"capability":"echo","payload":`+literal+`}`) // as if it had not been heard
		return heard > 1
	})
	if n := server.ran(task.TaskID); n != 1 {
		t.Errorf("the task was run %d times", n)
	}
}

func TestWhatIsRefusedIsSaid(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	p := newPhone(h, "phone")
	tests := []struct {
		name, verb, body string
		about            string
		code             schemas.Code
	}{
		{"no JSON", "submit", `{`, "submit", schemas.InvalidArgument},
		{"no msg_id", "submit", `{"capability":"echo"}`, "submit", schemas.InvalidArgument},
		{"an unknown capability", "submit", `{"msg_id":"u","capability":"nope"}`, "submit u", schemas.NotFound},
		{"nobody to run it", "submit", `{"msg_id":"n","capability":"echo"}`, "submit n", schemas.Unavailable},
		{"a task that is none", "get", `{"task_id":">"}`, "get", schemas.InvalidArgument},
		{"an unknown task", "cancel", `{"task_id":"01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"}`, "cancel", schemas.NotFound},
		{"no chunks of a task that is none", "resume", `{"task_id":"x"}`, "resume", schemas.InvalidArgument},
		{"a heartbeat before the registration", "heartbeat", `{}`, "heartbeat", schemas.NotFound},
		{"another's agent_id", "register", `{"agent_id":"other","capabilities":["echo"]}`, "register", schemas.PermissionDenied},
		{"a strange capability", "register", `{"capabilities":["ecko"]}`, "register", schemas.InvalidArgument},
		{"a receipt of nothing", "receipt", `{}`, "receipt", schemas.InvalidArgument},
		{"a result of nothing", "result", `{"result":1}`, "result", schemas.InvalidArgument},
		{"a chunk without number", "chunk", `{"task_id":"01a226bf-4900-7b1e-9d54-0f6a3f1f8a10","data":1}`, "chunk", schemas.InvalidArgument},
		{"an unknown topic", "nonsense", `{}`, "nonsense", schemas.Unimplemented},
	}
	for _, tt := range tests {
		p.mu.Lock()
		delete(p.errors, tt.about)
		p.mu.Unlock()
		p.publish(tt.verb, tt.body)
		var got *schemas.Error
		brokertest.Eventually(t, tt.name, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			got = p.errors[tt.about]
			return got != nil
		})
		if got.Code != tt.code {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.code)
		}
	}
}

func TestAPhoneThatWasAwayHearsTheEndOnItsReturn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	server := newPhone(h, "server")
	server.register(serves)
	caller := newPhone(h, "caller")
	server.fly(true)
	brokertest.Eventually(t, "the last will makes it offline", func() bool { return h.state("server") == schemas.AgentOffline })
	caller.submit("a", `{"capability":"test_run","payload":{"command":"x"},"prefer_agent":"server","wait_for_agent":true}`)
	brokertest.Eventually(t, "accepted", func() bool { return caller.heard("accepted") > 0 })
	caller.fly(true)
	server.fly(false)
	caller.mu.Lock()
	accepted := caller.accepted["a"].TaskID
	caller.mu.Unlock()
	task := h.wait(accepted)
	if task.State != schemas.StateCompleted || caller.heard("result") > 0 {
		t.Errorf("%s; the caller has heard %d results in flight mode", task.State, caller.heard("result"))
	}
	caller.fly(false)
	if end := caller.end("a"); end.Revision != task.Revision {
		t.Errorf("the caller heard of revision %d, want %d", end.Revision, task.Revision)
	}
}

func TestWhatAPhoneHasBegunWaitsForItAndTheRestMoves(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	hold := make(chan struct{})
	p := newPhone(h, "phone", func(p *phone) {
		p.run = func(p *phone, e *errand) {
			<-hold
			p.finish(e, `{"passed":true,"output":"ok"}`)
		}
	})
	p.register(serves)
	begun, other := h.submit(work("phone")), h.submit(schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload(`1`)})
	brokertest.Eventually(t, "both run", func() bool { return p.ran(begun.TaskID) == 1 && p.ran(other.TaskID) == 1 })
	p.fly(true)
	brokertest.Eventually(t, "it is offline", func() bool { return h.state("phone") == schemas.AgentOffline })
	second := newPhone(h, "second", func(p *phone) { p.run = func(p *phone, e *errand) { p.finish(e, `2`) } })
	second.register(`{"instance_id":"app-2","capabilities":["echo"]}`)
	if moved := h.wait(other.TaskID); moved.AgentID != "second" {
		t.Errorf("what anybody may run ended with %s", moved.AgentID)
	}
	task, err := h.any().Task(t.Context(), schemas.DefaultTenant, begun.TaskID)
	check(t, err)
	if task.Phase != schemas.PhaseBegun || task.AgentID != "phone" {
		t.Errorf("what the phone has begun is %s with %s", task.Phase, task.AgentID)
	}
	close(hold)
	p.fly(false)
	if task := h.wait(begun.TaskID); task.State != schemas.StateCompleted || p.ran(begun.TaskID) != 1 {
		t.Errorf("%s, run %d times: %v", task.State, p.ran(begun.TaskID), task.Error)
	}
}

func TestAGoodbyeOfAnOldConnectionRemovesNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	p := newPhone(h, "phone", func(p *phone) { p.mute = true }) // what it says is all that it says
	p.register(serves)
	p.publish("offline", `{"connection":"c0"}`)
	p.hello("heartbeat")
	p.publish("claim", `{}`)
	brokertest.Eventually(t, "all of it is answered", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.last["claim "].About == "claim"
	})
	if got := h.state("phone"); got != schemas.AgentOnline {
		t.Errorf("the phone is %s", got)
	}
	p.publish("offline", fmt.Sprintf(`{"connection":"c%d"}`, p.connections()))
	brokertest.Eventually(t, "its own goodbye counts", func() bool { return h.state("phone") == schemas.AgentOffline })
}

// The connection dies without a word in the midst of a task. The client comes back while the broker still holds the old connection, takes
// its client id over, and the broker says the old one's will.
func TestATakeoverOfAClientIDIsClean(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	begun := make(chan struct{})
	vanish := sync.OnceFunc(func() { close(begun) })
	p := newPhone(h, "phone", func(p *phone) {
		p.keepAlive = 2 * time.Second
		p.run = func(p *phone, e *errand) {
			select {
			case <-begun:
			default:
				p.vanish()
			}
			vanish()
			p.finish(e, `{"passed":true,"output":"ok"}`)
		}
	})
	p.register(serves)
	first := h.submit(work("phone"))
	<-begun
	second := h.submit(work("phone")) // the broker gives it to the dead connection
	for _, task := range []*schemas.Task{first, second} {
		if end := h.wait(task.TaskID); end.State != schemas.StateCompleted || p.ran(task.TaskID) != 1 {
			t.Errorf("%s, run %d times: %v", end.State, p.ran(task.TaskID), end.Error)
		}
	}
	brokertest.Eventually(t, "the phone is back", p.client.IsConnectionOpen)
	brokertest.Eventually(t, "the phone is online", func() bool { return h.state("phone") == schemas.AgentOnline })
}

func TestACancelReachesThePhone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	p := newPhone(h, "phone", func(p *phone) { p.run = func(*phone, *errand) {} })
	p.register(serves)
	task := h.submit(work("phone"))
	brokertest.Eventually(t, "it runs", func() bool { return p.ran(task.TaskID) == 1 })
	canceled, err := h.any().Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	if !canceled.Cancel.Won || !canceled.Cancel.Confirmed {
		t.Errorf("cancel: %+v", canceled.Cancel)
	}
}

func TestATaskThatOutlastsItsRunLimitIsStopped(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*phone){
		"the phone says nothing meanwhile":               func(p *phone) { p.mute = true },
		"it names the task as it was before the receipt": func(p *phone) { p.mute, p.hasty = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, 1)
			p := newPhone(h, "phone", change, func(p *phone) { p.run = func(*phone, *errand) {} })
			p.register(serves)
			message := work("phone")
			message.RunTimeoutMS = 300
			task := h.wait(h.submit(message).TaskID)
			if task.Error == nil || task.Error.Code != schemas.DeadlineExceeded || task.Error.Reason != schemas.ReasonRunLimit {
				t.Errorf("ended with %v", task.Error)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if !slices.ContainsFunc(p.canceled, func(word schemas.Control) bool { return word.Reason == schemas.ReasonRunLimit }) {
				t.Errorf("the phone heard %v", p.canceled)
			}
		})
	}
}

// TestARunLimitOutlivesTheDispatcherThatGaveTheTask: whoever answers for the phone next takes over what it holds.
func TestARunLimitOutlivesTheDispatcherThatGaveTheTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	begun := make(chan struct{}, 1)
	p := newPhone(h, "phone", func(p *phone) { p.run = func(*phone, *errand) { begun <- struct{}{} } })
	p.register(serves)
	message := work("phone")
	message.RunTimeoutMS = 2000
	taskID := h.submit(message).TaskID
	await(t, "the task is begun", begun)
	owner := slices.IndexFunc(h.all, func(r *resident) bool { return r.ID() == score.Owner(h.any().Peers(), "phone") })
	h.all[owner].stop()
	h.all = slices.Delete(h.all, owner, owner+1)
	if task := h.wait(taskID); task.Error == nil || task.Error.Reason != schemas.ReasonRunLimit {
		t.Errorf("ended with %v", task.Error)
	}
}

// TestATaskThatThePhoneForgetsEnds: the phone begins it, never names it, and is never heard of it again.
func TestATaskThatThePhoneForgetsEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	p := newPhone(h, "phone", func(p *phone) {
		p.run = func(p *phone, e *errand) {
			p.mu.Lock()
			defer p.mu.Unlock()
			e.over = true
		}
	})
	p.register(serves)
	message := work("phone")
	message.RunTimeoutMS = 2000 // it beats every second
	if task := h.wait(h.submit(message).TaskID); task.Error == nil || task.Error.Reason != schemas.ReasonRunLimit {
		t.Errorf("ended with %v", task.Error)
	}
	next := h.submit(work("phone"))
	brokertest.Eventually(t, "the phone is given the next task", func() bool { return p.ran(next.TaskID) == 1 })
}

func TestAFailureOfThePhoneIsTheAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	p := newPhone(h, "phone", func(p *phone) {
		p.run = func(p *phone, e *errand) {
			p.say("result "+e.TaskID, "result", fmt.Sprintf(
				`{"task_id":%q,"sequence":%d,"error":{"code":"E7","message":"no battery"}}`, e.TaskID, e.sequence))
		}
	})
	p.register(`{"capabilities":[{"id":"test_run","error_mapping":{"E7":"RESOURCE_EXHAUSTED"}}]}`)
	task := h.wait(h.submit(work("phone")).TaskID)
	if e := task.Error; task.State != schemas.StateFailed || e.Code != schemas.ResourceExhausted || string(e.Details["agent_code"]) != `"E7"` {
		t.Errorf("%s: %v %s", task.State, task.Error, task.Error.Details)
	}
}

func TestAPhoneIsSpokenToInItsOwnWords(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	p := newPhone(h, "phone", func(p *phone) {
		p.run = func(p *phone, e *errand) {
			if payload := e.payload(); payload != `{"text":"a","maxSentences":2}` {
				p.t.Errorf("the phone is given %s", payload)
			}
			p.finish(e, `{"summary":"b"}`)
		}
	})
	p.register(`{"capabilities":[{"id":"summarize","input_schema":{"type":"object","properties":{"text":{"type":"string"},` +
		`"maxSentences":{"type":"integer"}}}}]}`)
	task := h.wait(h.submit(schemas.ReachMessage{
		Capability: "summarize", Payload: schemas.Payload(`{"text":"a","max_sentences":2}`),
	}).TaskID)
	if task.State != schemas.StateCompleted || string(task.Result) != `{"summary":"b"}` {
		t.Errorf("%s with %s: %v", task.State, task.Result, task.Error)
	}
}

func TestChunksTravelFromPhoneToPhone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	const chunks = 60
	server := newPhone(h, "server", func(p *phone) { p.run = streamed(chunks) })
	server.register(serves)
	caller := newPhone(h, "caller")
	caller.submit("s", `{"capability":"test_run","payload":{"command":"x"},"response_mode":"stream"}`) // which may take its time
	task := caller.end("s")
	if task.State != schemas.StateCompleted || task.Chunks != chunks {
		t.Errorf("%s with %d chunks: %v", task.State, task.Chunks, task.Error)
	}
	caller.mu.Lock()
	got := slices.Clone(caller.chunks[task.TaskID])
	caller.mu.Unlock()
	if len(got) != chunks || slices.Contains(got, "") { // an app asks for what it lacks
		after := max(0, slices.Index(got, ""))
		caller.publish("resume", &schemas.FollowRef{TaskID: task.TaskID, After: int64(after)})
	}
	for n, data := range got {
		if data != fmt.Sprint(n+1) && data != "" {
			t.Errorf("chunk %d is %q", n+1, data)
		}
	}
}

// streamed sends chunks as fast as they are acknowledged, never more than 16 ahead, and repeats what was lost; ever more seldom, so that
// a house that is slow is not given more.
func streamed(chunks int64) func(*phone, *errand) {
	return func(p *phone, e *errand) {
		acked := func() int64 {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.last["chunk "+e.TaskID].N
		}
		sent, wait, since := int64(0), 200*time.Millisecond, time.Now()
		for n := acked(); n < chunks && time.Since(since) < patience; {
			switch {
			case sent < min(chunks, n+16):
				sent++
				p.publish("chunk", &schemas.Chunk{TaskID: e.TaskID, Attempt: e.Attempt, N: sent, Data: schemas.Payload(fmt.Sprint(sent))})
			case time.Since(since) > wait:
				sent, wait, since = n, 2*wait, time.Now()
			default:
				time.Sleep(5 * time.Millisecond)
			}
			if now := acked(); now > n {
				n, since = now, time.Now()
			}
		}
		p.publish("receipt", &schemas.DeviceReceipt{
			TaskID: e.TaskID, Attempt: e.Attempt, Sequence: e.sequence, Progress: &schemas.Progress{Message: "done"},
		})
		p.finish(e, `{"passed":true,"output":"ok"}`)
	}
}

func TestPhonesOutliveTheirDispatcher(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	var phones []*phone
	for i := range 4 {
		p := newPhone(h, fmt.Sprintf("phone-%d", i))
		p.register(strings.Replace(serves, "app-1", fmt.Sprintf("app-%d", i), 1))
		phones = append(phones, p)
	}
	tasks := map[string]*phone{}
	for range 5 {
		for _, p := range phones {
			tasks[h.submit(work(p.name)).TaskID] = p
		}
		if len(h.all) > 1 {
			h.all[0].stop()
			h.all = h.all[1:]
		}
	}
	for taskID, p := range tasks {
		if task := h.wait(taskID); task.State != schemas.StateCompleted {
			t.Errorf("%s ended as %s: %v", taskID, task.State, task.Error)
		}
		if n := p.ran(taskID); n != 1 {
			t.Errorf("%s was run %d times", taskID, n)
		}
	}
}

func TestPhonesOutliveTheirBroker(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	begun, outage := make(chan struct{}, 1), make(chan struct{})
	server := newPhone(h, "server", func(p *phone) {
		p.run = func(p *phone, e *errand) {
			begun <- struct{}{}
			<-outage
			p.finish(e, `{"passed":true,"output":"ok"}`)
		}
	})
	server.register(serves)
	caller := newPhone(h, "caller")
	caller.submit("a", `{"capability":"test_run","payload":{"command":"x"},"prefer_agent":"server","wait_for_agent":true}`)
	<-begun
	h.broker.Stop()
	close(outage) // the result finds nobody
	h.broker.Start()
	task := caller.end("a")
	if task.State != schemas.StateCompleted || server.ran(task.TaskID) != 1 {
		t.Errorf("%s, run %d times: %v", task.State, server.ran(task.TaskID), task.Error)
	}
}

var cycles = flag.Int("cycles", 20, "how often a phone loses its connection")

// A phone serves tasks with side effects, and another submits them; both lose their connections again and again, at any moment.
func TestDisconnectsLoseNothingAndRepeatNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	random := rand.New(rand.NewPCG(1, uint64(*cycles)))
	cuts := make(chan struct{}, 1024)
	server := newPhone(h, "server", func(p *phone) {
		p.on = func(kind string) {
			if kind == "task" || kind == "ok" {
				select {
				case cuts <- struct{}{}:
				default:
				}
			}
		}
	})
	server.register(serves)
	caller := newPhone(h, "caller")
	for i := range *cycles {
		caller.submit(fmt.Sprint("m", i), `{"capability":"test_run","payload":{"command":"x"},"prefer_agent":"server","wait_for_agent":true}`)
		for range random.IntN(3) { // before it is handed over, then, or after
			select {
			case <-cuts:
			case <-time.After(100 * time.Millisecond):
			}
		}
		server.cut()
		if i%2 == 0 {
			caller.cut()
		}
	}
	for i := range *cycles {
		task := caller.end(fmt.Sprint("m", i))
		if task.State != schemas.StateCompleted {
			t.Errorf("task %d ended as %s: %v", i, task.State, task.Error)
		}
		if n := server.ran(task.TaskID); n != 1 {
			t.Errorf("task %d was run %d times", i, n)
		}
	}
	t.Logf("%d cycles; the server heard %d tasks, the caller %d results", *cycles, server.heard("task"), caller.heard("result"))
}
