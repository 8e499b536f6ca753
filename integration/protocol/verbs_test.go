package protocol

import (
	"context"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// verbs are what a row can say: its first two words, and what is done with the others and with its value.
var verbs map[string]func(*stage, []string, map[string]any)

func init() {
	verbs = map[string]func(*stage, []string, map[string]any){
		"worker starts": (*stage).starts,
		"worker is":     (*stage).workerIs,
		"worker ends":   func(s *stage, _ []string, _ map[string]any) { s.worker.awaitEnd() },

		"worker registers": must("register"),
		"worker begins":    must("begin"),
		"worker finishes":  must("finish"),
		"worker releases":  must("release"),
		"worker pulls":     atSomeTime("pull"),
		"worker beats":     atSomeTime("heartbeat"),
		"worker names":     atSomeTime("receipt"),
		"worker answers":   (*stage).answered,
		"worker refuses":   (*stage).refused,

		"agent runs":  (*stage).agentRuns,
		"agent stops": (*stage).agentStops,

		"dispatcher answers": (*stage).gives,
		"dispatcher refuses": (*stage).refuses,
		"dispatcher is":      func(s *stage, _ []string, _ map[string]any) { s.open = nil },
		"dispatcher assigns": (*stage).assigns,
		"dispatcher sends":   (*stage).sends,
		"dispatcher asks":    (*stage).asks,
		"dispatcher forgets": (*stage).forgets,
		"dispatcher babbles": (*stage).babbles,

		"broker stops":  func(s *stage, _ []string, _ map[string]any) { s.broker.Stop() },
		"broker starts": (*stage).brokerStarts,
	}
}

// play is one row.
func (s *stage) play(r row) {
	s.t.Helper()
	if len(r.words) < 2 {
		s.t.Fatalf("%s: who does what?", r)
	}
	verb, known := verbs[strings.Join(r.words[:2], " ")]
	if !known {
		s.t.Fatalf("%s: this is not one of the verbs", r)
	}
	answers := r.words[0] == "dispatcher" && (r.words[1] == "answers" || r.words[1] == "refuses" || r.words[1] == "is")
	if answers != (s.open != nil) {
		s.t.Fatalf("%s: a request and its answer stand together", r)
	}
	value := r.value
	if r.words[0] == "dispatcher" {
		filled, err := s.words.fill(value)
		if err != nil {
			s.t.Fatalf("%s: %v", r, err)
		}
		value = filled
	}
	if text, isText := value.(string); isText {
		value = map[string]any{"text": text}
	}
	object, _ := value.(map[string]any)
	defer func() {
		if s.t.Failed() {
			s.t.Logf("at %s", r)
		}
	}()
	verb(s, r.words[2:], object)
}

func (s *stage) starts(_ []string, options map[string]any) {
	s.worker = s.spawn(options)
}

// workerIs told to stop, or is registered: started, and ready for tasks.
func (s *stage) workerIs(words []string, options map[string]any) {
	s.t.Helper()
	if words[0] != "registered" {
		s.worker.tellToStop()
		return
	}
	s.starts(nil, options)
	must("register")(s, nil, map[string]any{"agent_id": agentID, "instance_id": "$instance"})
	s.gives(nil, map[string]any{"state": "online", "heartbeat_interval_ms": 300, "receipt_interval_ms": 300})
	atSomeTime("pull")(s, nil, map[string]any{})
	atSomeTime("heartbeat")(s, nil, map[string]any{"state": "online"})
}

// must takes the next message of a verb, which has to fit; the script then answers it.
func must(verb string) func(*stage, []string, map[string]any) {
	return func(s *stage, _ []string, pattern map[string]any) {
		s.t.Helper()
		h := s.next(verb)
		if err := s.words.match(any(pattern), any(h.body)); err != nil {
			s.t.Fatalf("the worker's %s: %v\n%s", verb, err, encode(h.body))
		}
		s.open = h
	}
}

// atSomeTime waits for a message that fits; these come at times of the worker's own choice, and are answered by the rules.
func atSomeTime(verb string) func(*stage, []string, map[string]any) {
	return func(s *stage, _ []string, pattern map[string]any) {
		s.t.Helper()
		s.until(verb, any(pattern))
	}
}

func (s *stage) gives(_ []string, answer map[string]any) {
	h := s.open
	s.open = nil
	body := map[string]any{"v": 1}
	if h.verb == "register" {
		body["agent_id"], body["revision"] = agentID, 1
		s.setForgotten(false)
	} else {
		s.settle(h, answer)
	}
	text := encode(merge(body, answer))
	if answer["outcome"] == "try_again" || h.verb == "register" {
		h.request.Reply(text)
		return
	}
	s.conclude(h, func(r *broker.Request) { r.Reply(text) })
}

func (s *stage) refuses(_ []string, refusal map[string]any) {
	h := s.open
	s.open = nil
	e := new(schemas.Error)
	check(s.t, schemas.Decode(encode(merge(map[string]any{"message": "the script says so", "retryable": false}, refusal)), e))
	if e.Retryable || h.verb == "register" || h.verb == "finish" {
		h.request.Fail(e)
		return
	}
	s.settle(h, map[string]any{})
	s.conclude(h, func(r *broker.Request) { r.Fail(e) })
}

// Ways in which an assignment is made that the feed does not tell.
const (
	toAnother = "to another"
	byAnother = "by another" // dispatcher: this one has not heard of it
	forAPull  = "for a pull"
)

// assigns makes an assignment; the feed says so, unless it is unheard or one of those ways is given.
func (s *stage) assigns(words []string, change map[string]any) {
	s.t.Helper()
	how := strings.Join(words[1:], " ")
	a := s.assign(words[0], how, change)
	if how == "" {
		check(s.t, s.conn.PublishEntry(feed(a.entry), a.entry))
	}
}

// sends an assignment again.
func (s *stage) sends(words []string, _ map[string]any) {
	s.t.Helper()
	e := s.tasks[words[0]].entry
	subject := feed(e)
	if words[len(words)-1] == "control" {
		subject = broker.SubjectControl(agentID)
	}
	check(s.t, s.conn.PublishEntry(subject, e))
}

func (s *stage) asks(_ []string, word map[string]any) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		body, err := s.conn.Request(ctx, broker.SubjectControl(agentID), encode(merge(map[string]any{"v": 1}, word)))
		s.asked <- controlled{body, err}
	}()
}

func (s *stage) answered(_ []string, pattern map[string]any) {
	s.t.Helper()
	reply := <-s.asked
	if reply.err != nil {
		s.t.Fatalf("the worker did not answer: %v", reply.err)
	}
	value, err := decode(reply.body)
	check(s.t, err)
	if err := s.words.match(any(pattern), value); err != nil {
		s.t.Fatalf("the worker's answer: %v\n%s", err, reply.body)
	}
}

func (s *stage) refused(_ []string, pattern map[string]any) {
	s.t.Helper()
	reply := <-s.asked
	refusal := schemas.AsError(reply.err)
	if reply.err == nil {
		s.t.Fatalf("the worker refused nothing: %s", reply.body)
	}
	value, err := decode(schemas.MustEncode(refusal))
	check(s.t, err)
	if err := s.words.match(any(pattern), value); err != nil {
		s.t.Fatalf("the worker's refusal: %v", err)
	}
}

func (s *stage) forgets(_ []string, _ map[string]any) { s.setForgotten(true) }

func (s *stage) setForgotten(forgotten bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = forgotten
}

// babbles sends nonsense where assignments and controls come from: alone, and where the message of an assignment should be.
func (s *stage) babbles(_ []string, said map[string]any) {
	s.t.Helper()
	text := []byte(said["text"].(string))
	nonsense := broker.Entry{
		TaskID: schemas.NewTaskID(), Phase: schemas.PhaseAssigned, Capability: "echo", Agent: agentID, Body: text, Sequence: 7, Write: "w",
	}
	for _, subject := range []string{feed(nonsense), broker.SubjectControl(agentID)} {
		check(s.t, s.conn.Publish(subject, text))
		check(s.t, s.conn.PublishEntry(subject, nonsense))
	}
}

func (s *stage) brokerStarts(_ []string, _ map[string]any) {
	s.t.Helper()
	s.broker.Start()
	brokertest.Eventually(s.t, "the dispatcher's reconnect", s.conn.Connected)
}

func (s *stage) agentRuns(words []string, _ map[string]any) {
	s.t.Helper()
	id := s.tasks[words[0]].entry.TaskID
	s.runs[id]++
	s.worker.await("run "+id, s.runs[id])
}

func (s *stage) agentStops(words []string, _ map[string]any) {
	s.t.Helper()
	s.worker.await("stopped "+s.tasks[words[0]].entry.TaskID, 1)
}

// finale ends the worker, if it still runs, and looks for what the script has not told: an agent that ran once too often, or a
// request too many.
func (s *stage) finale() {
	s.t.Helper()
	if s.t.Failed() {
		return
	}
	s.mu.Lock()
	s.ending = true
	for verb, all := range s.heard {
		if verb == "begin" || verb == "finish" || verb == "release" || verb == "register" {
			for _, h := range all[s.seen[verb]:] {
				s.t.Errorf("a %s that the script does not know: %s", verb, encode(h.body))
			}
		}
	}
	s.mu.Unlock()
	s.worker.tellToStop()
	s.worker.awaitEnd()
	for line, times := range s.worker.said() {
		if id, ran := strings.CutPrefix(line, "run "); ran && times != s.runs[id] {
			s.t.Errorf("task %s ran %d times, and the script knows of %d", id, times, s.runs[id])
		}
	}
}
