package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// agentID is the agent that every script is about.
const agentID = "subject-1"

// applied stands for a dispatcher that knows everything.
const applied = 1 << 40

// stage is a dispatcher that does as its script says, over a real broker. What no script needs to say is done by the rules: pulls and
// heartbeats are answered with what is assigned and not held, and with what is held and no longer the agent's.
type stage struct {
	t              *testing.T
	broker         *brokertest.Broker
	implementation implementation
	conn           *broker.Conn
	words          names
	worker         *child // nil before it starts

	mu        sync.Mutex
	heard     map[string][]*heard              // by verb, in order
	seen      map[string]int                   // how many of these the script has gone through
	last      map[string]func(*broker.Request) // by verb and write_id: the last word, which repeats hear as well
	tasks     map[string]*assigned             // by their names in the script
	sequence  uint64
	forgotten bool // the agent, until it registers

	open   *heard          // what the script must answer next
	asked  chan controlled // answers to what the script has asked
	runs   map[string]int  // how often the script has seen each task run
	ending bool
}

// heard is one message of the worker.
type heard struct {
	verb    string
	body    map[string]any
	request *broker.Request
}

// assigned is a task of the script, and where it stands.
type assigned struct {
	entry   broker.Entry // its latest assignment
	token   uint64       // the sequence that its worker has to name
	attempt int
	own     bool // it is this agent's, and has not ended
	pulled  bool // only the answers to pulls tell of it
	begun   bool
}

// controlled is an answer to a control.
type controlled struct {
	body []byte
	err  error
}

func newStage(t *testing.T, i implementation) *stage {
	t.Helper()
	b := brokertest.New(t)
	s := &stage{
		t: t, implementation: i, broker: b, conn: b.Conn(t), words: names{"$agent": agentID}, sequence: 4000,
		heard: make(map[string][]*heard), seen: make(map[string]int), last: make(map[string]func(*broker.Request)),
		tasks: make(map[string]*assigned), asked: make(chan controlled, 1), runs: make(map[string]int),
	}
	_, err := s.conn.ServeAPI("1.0.0", map[string]func(context.Context, *broker.Request){"agent.register": s.hear("register")}, nil)
	check(t, err)
	for subject, handler := range map[string]func(context.Context, *broker.Request){
		broker.SubjectBegin(agentID): s.hear("begin"), broker.SubjectFinish(agentID): s.hear("finish"),
		broker.SubjectRelease(agentID): s.hear("release"), broker.SubjectReceipt(agentID): s.hear("receipt"),
		broker.SubjectPull(agentID): s.compare("pull"), broker.SubjectHeartbeat(agentID): s.compare("heartbeat"),
	} {
		_, err := s.conn.Serve(subject, handler)
		check(t, err)
	}
	return s
}

// read notes a message. What is no JSON object, or names another agent than its subject, breaks the rules.
func (s *stage) read(verb string, r *broker.Request) *heard {
	value, err := decode(r.Data)
	body, ok := value.(map[string]any)
	if err != nil || !ok || schemas.Scan(r.Data) != nil {
		s.t.Errorf("the worker's %s is no JSON object: %s", verb, r.Data)
		return nil
	}
	if _, named := body["agent_id"]; named && body["agent_id"] != agentID {
		s.t.Errorf("the worker's %s is of the agent %v", verb, body["agent_id"])
	}
	return &heard{verb, body, r}
}

// hear takes what the script answers. A repeat of what has had the last word hears the same again, as from any dispatcher.
func (s *stage) hear(verb string) func(context.Context, *broker.Request) {
	return func(_ context.Context, r *broker.Request) {
		h := s.read(verb, r)
		if h == nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if word := s.last[h.key()]; word != nil {
			word(r)
		} else if s.ending {
			r.Reply([]byte(`{"v":1,"outcome":"stored"}`))
		} else {
			s.heard[verb] = append(s.heard[verb], h)
		}
	}
}

// conclude has the last word on a request. A slow moment may have let the worker repeat it meanwhile.
func (s *stage) conclude(h *heard, word func(*broker.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[h.key()] = word
	word(h.request)
	all := s.heard[h.verb]
	past, coming := all[:s.seen[h.verb]], all[s.seen[h.verb]:]
	s.heard[h.verb] = slices.Clone(past)
	for _, o := range coming {
		if o.key() == h.key() {
			word(o.request)
		} else {
			s.heard[h.verb] = append(s.heard[h.verb], o)
		}
	}
}

func (h *heard) key() string {
	return fmt.Sprint(h.verb, " ", h.body["write_id"], " ", h.body["task_id"])
}

// compare answers a pull or heartbeat by the rules.
func (s *stage) compare(verb string) func(context.Context, *broker.Request) {
	return func(_ context.Context, r *broker.Request) {
		h := s.read(verb, r)
		if h == nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heard[verb] = append(s.heard[verb], h)
		if s.forgotten {
			r.Fail(schemas.NewError(schemas.NotFound, schemas.ReasonUnknownAgent, "there is no such agent"))
			return
		}
		end := schemas.PullEnd{Applied: applied}
		own := make(map[uint64]bool)
		held := sequences(h.body["held"])
		for _, a := range s.tasks {
			if !a.own {
				continue
			}
			own[a.token], own[a.entry.Sequence] = true, true
			if !a.begun && !slices.Contains(held, a.token) && (verb == "pull" || !a.pulled) {
				r.ReplyEntry(a.entry)
				end.Count++
			}
		}
		for _, sequence := range held {
			if !own[sequence] {
				end.NotYours = append(end.NotYours, sequence)
			}
		}
		r.ReplyEnd(schemas.MustEncode(end))
	}
}

func sequences(list any) []uint64 {
	var all []uint64
	elements, _ := list.([]any)
	for _, element := range elements {
		sequence, err := strconv.ParseUint(fmt.Sprint(element), 10, 64)
		if err == nil {
			all = append(all, sequence)
		}
	}
	return all
}

// next waits for the next message of a verb.
func (s *stage) next(verb string) *heard {
	s.t.Helper()
	var found *heard
	brokertest.Eventually(s.t, "a "+verb, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if at := s.seen[verb]; at < len(s.heard[verb]) {
			found = s.heard[verb][at]
			s.seen[verb]++
		}
		return found != nil
	})
	return found
}

// until goes through the messages of a verb to one that fits.
func (s *stage) until(verb string, pattern any) {
	s.t.Helper()
	problem := errors.New("there was none")
	defer func() {
		if s.t.Failed() && problem != nil {
			s.t.Logf("the last %s was not it: %v", verb, problem)
		}
	}()
	brokertest.Eventually(s.t, "a "+verb+" that fits", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for problem != nil && s.seen[verb] < len(s.heard[verb]) {
			problem = s.words.match(pattern, any(s.heard[verb][s.seen[verb]].body))
			s.seen[verb]++
		}
		return problem == nil
	})
}

// assign makes an assignment of a task, a new one if the script has not named it before.
func (s *stage) assign(name, how string, change map[string]any) *assigned {
	agent := agentID
	if how == toAnother {
		agent = "server-2"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.tasks[name]
	if a == nil {
		a = &assigned{entry: broker.Entry{TaskID: schemas.NewTaskID()}}
		s.tasks[name] = a
		s.words["$"+name] = a.entry.TaskID
	}
	previous := a.token
	a.attempt++
	s.sequence++
	message := merge(s.message(a, agent), change)
	a.entry = broker.Entry{
		TaskID: a.entry.TaskID, Phase: schemas.PhaseAssigned, Capability: fmt.Sprint(message["capability"]), Agent: agent,
		Body: encode(message), Sequence: s.sequence, Previous: previous, Write: "0123456789abcdef", TTL: time.Hour, At: time.Now(),
	}
	a.token, a.begun = s.sequence, false
	a.own, a.pulled = how != toAnother && how != byAnother, how == forAPull
	s.words["$"+name+".sequence"] = json.Number(strconv.FormatUint(s.sequence, 10))
	return a
}

func (s *stage) message(a *assigned, agent string) map[string]any {
	now := time.Now()
	return map[string]any{
		"v": 1, "task_id": a.entry.TaskID, "tenant": "default", "capability": "echo", "payload": map[string]any{"text": "Ships sail."},
		"attempt": a.attempt, "submitted_at": schemas.At(now), "expires_at": schemas.At(now.Add(time.Hour)),
		"assignment": map[string]any{"agent_id": agent, "idempotent": true, "run_timeout_ms": 30000, "chain": []any{agent}},
		"hops":       []any{map[string]any{"hop": "submitted", "at": schemas.At(now), "by": "dispatcher-1"}},
	}
}

// feed is where the feed says that something was assigned.
func feed(e broker.Entry) string {
	return "reach.feed.assigned." + e.Capability + "." + e.Agent + "." + e.TaskID
}

// settle notes what an answer of the script means for the task.
func (s *stage) settle(h *heard, answer map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.tasks {
		if a.entry.TaskID != h.body["task_id"] {
			continue
		}
		stored := answer["outcome"] == "stored" || answer["outcome"] == "already_yours"
		if h.verb == "begin" && stored {
			a.begun = true
			a.token = slices.Max(append(sequences([]any{answer["sequence"]}), a.token))
		} else if answer["outcome"] != "try_again" {
			a.own = false
		}
	}
}
