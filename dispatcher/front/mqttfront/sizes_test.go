package mqttfront_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// most is how many bytes a device may publish: what the broker carries, less the header that the broker puts before it.
const most = 1<<20 - len("NATS/1.0\r\nNmqtt-Pub:1\r\n\r\n")

var aroundTheLimit = []int{most - 200, most - 1, most, most + 1, 10 * most}

// filled is head and tail, and so much between them that all has so many bytes.
func filled(bytes int, head, tail string) string {
	return head + strings.Repeat("x", bytes-len(head)-len(tail)) + tail
}

// connections is how often the phone has connected, where it is connected.
func (p *phone) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connection
}

// loses publishes what no message carries: the broker drops the connection, and the phone comes back.
func (p *phone) loses(verb, body string) {
	p.t.Helper()
	before := p.connections()
	p.publish(verb, body)
	brokertest.Eventually(p.t, p.name+" loses its connection and comes back", func() bool {
		return p.connections() > before && p.client.IsConnectionOpen()
	})
}

// A submit is accepted up to the last byte that a message carries. Beyond, the caller loses its connection: nobody has seen what it
// submitted, its msg_id is free, and what it had submitted before goes on.
func TestASubmitIsAcceptedUpToTheLastByteThatAMessageCarries(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	server := newPhone(h, "server", func(p *phone) {
		p.run = func(p *phone, e *errand) {
			var m schemas.ReachMessage
			if err := schemas.Decode(e.Message, &m); err != nil {
				p.t.Error(err)
			}
			if m.PayloadRef != nil {
				p.finish(e, fmt.Sprint(m.PayloadRef.Bytes))
				return
			}
			p.finish(e, string(m.Payload))
		}
	})
	server.register(strings.Replace(serves, "{", `{"large_bodies":true,`, 1))
	caller := newPhone(h, "caller")
	for i, bytes := range aroundTheLimit {
		name := fmt.Sprint("m", i)
		head, tail := `{"msg_id":"`+name+`","capability":"echo","payload":"`, `"}`
		want := fmt.Sprint(bytes - len(head) - len(tail) + len(`""`))
		if body := filled(bytes, head, tail); bytes <= most {
			caller.say("submit "+name, "submit", body)
		} else {
			caller.submit("beside "+name, `{"capability":"test_run","payload":{"command":"x"}}`)
			caller.loses("submit", body)
			if end := caller.end("beside " + name); server.ran(end.TaskID) != 1 {
				t.Errorf("%d bytes: what was submitted beside it was run %d times", bytes, server.ran(end.TaskID))
			}
			caller.submit(name, `{"capability":"echo","payload":`+want+`}`)
		}
		end := caller.end(name)
		if end.State != schemas.StateCompleted || string(end.Result) != want || server.ran(end.TaskID) != 1 {
			t.Errorf("%d bytes: %s with %s, want %s, run %d times: %v", bytes, end.State, end.Result, want, server.ran(end.TaskID), end.Error)
		}
	}
}

// A result is taken up to the last byte that a message carries. Beyond, the agent loses its connection, and still has its task: it brings
// the same result by HTTPS, and the task, which has side effects, was run once.
func TestAResultIsTakenUpToTheLastByteThatAMessageCarries(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	url := h.doors()
	lost := make(chan *errand)
	server := newPhone(h, "server", func(p *phone) {
		p.run = func(p *phone, e *errand) {
			if body := resultOf(p.t, e); len(body) <= most {
				p.say("result "+e.TaskID, "result", body)
				return
			}
			lost <- e
		}
	})
	server.register(serves)
	for _, bytes := range aroundTheLimit {
		message := work("server")
		message.Payload = fmt.Appendf(nil, `{"command":"%d"}`, bytes)
		task := h.submit(message)
		if bytes > most {
			e := <-lost
			body := resultOf(t, e)
			server.loses("result", body)
			_, result, _ := strings.Cut(strings.TrimSuffix(body, "}"), `"result":`)
			server.bring(url, e, result)
		}
		end := h.wait(task.TaskID)
		if end.State != schemas.StateCompleted || server.ran(task.TaskID) != 1 {
			t.Errorf("%d bytes: %s, run %d times: %v", bytes, end.State, server.ran(task.TaskID), end.Error)
		}
		if end.ResultRef == nil || int64(bytes)-end.ResultRef.Bytes > 200 {
			t.Errorf("%d bytes: the result is %+v", bytes, end.ResultRef)
		}
	}
}

// resultOf is a result of as many bytes, with all that is said beside it, as its task asks for.
func resultOf(t testing.TB, e *errand) string {
	bytes, err := strconv.Atoi(commandOf(t, e))
	if err != nil {
		t.Error(err)
	}
	head := fmt.Sprintf(`{"task_id":%q,"attempt":%d,"sequence":%d,"result":{"passed":true,"output":"`, e.TaskID, e.Attempt, e.sequence)
	return filled(bytes, head, `"}}`)
}

// longWords are what an agent may say at length beside its result: what stands before it and after.
var longWords = map[string]struct{ verb, head, tail string }{
	"the message of an error": {"result", `"error":{"code":"INTERNAL","message":"`, `"}}`},
	"a detail of an error":    {"result", `"error":{"code":"INTERNAL","message":"m","details":{"a":"`, `"}}}`},
	"a code of its own":       {"result", `"error":{"code":"`, `","message":"m"}}`},
	"its progress":            {"receipt", `"progress":{"message":"`, `"}}`},
}

// What an agent says beside its result may be as long as a message is. It is heard, and only its beginning is kept.
func TestWordsAsLongAsAMessageAreHeardAndCut(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	server := newPhone(h, "server", func(p *phone) {
		p.run = func(p *phone, e *errand) {
			words := longWords[commandOf(p.t, e)]
			head := fmt.Sprintf(`{"task_id":%q,"attempt":%d,"sequence":%d,`, e.TaskID, e.Attempt, e.sequence)
			p.say(words.verb+" "+e.TaskID, words.verb, filled(most, head+words.head, words.tail))
		}
	})
	server.register(serves)
	for name, words := range longWords {
		message := work("server")
		message.Payload = fmt.Appendf(nil, `{"command":%q}`, name)
		task := h.submit(message)
		brokertest.Eventually(t, name+" is heard", func() bool {
			var err error
			task, err = h.any().Task(t.Context(), schemas.DefaultTenant, task.TaskID)
			check(t, err)
			return task.Progress != nil || task.State.Terminal()
		})
		if ended := task.Error != nil && task.Error.Code != schemas.DeadlineExceeded; ended != (words.verb == "result") {
			t.Errorf("%s: the task is %s, %v", name, task.State, task.Error)
		}
		if kept := len(schemas.MustEncode(task)); kept > 8<<10 {
			t.Errorf("%s: %d bytes are kept of it", name, kept)
		}
	}
}

// commandOf is the command that a task is about.
func commandOf(t testing.TB, e *errand) string {
	var asked struct {
		Command string `json:"command"`
	}
	if err := schemas.Decode([]byte(e.payload()), &asked); err != nil {
		t.Error(err)
	}
	return asked.Command
}
