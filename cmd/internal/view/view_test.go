package view_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/schemas"
)

var update = flag.Bool("update", false, "write the golden files")

const taskID = "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		golden string
		draw   func(io.Writer)
	}{
		{"accepted", func(w io.Writer) {
			view.Accepted(w, working())
			view.Accepted(w, queued())
		}},
		{"completed", func(w io.Writer) { view.Task(w, completed()) }},
		{"working", func(w io.Writer) { view.Task(w, working()) }},
		{"queued", func(w io.Writer) { view.Task(w, queued()) }},
		{"failed", func(w io.Writer) { view.Task(w, failed()) }},
		{"failed_program", func(w io.Writer) {
			task := failed()
			task.Error = schemas.NewError(schemas.Internal, "", "the agent exited with 3").With("stderr", "Traceback: \x1b[1mboom")
			view.Task(w, task)
		}},
		{"failed_cause", func(w io.Writer) {
			task := failed()
			task.Error.With("cause", schemas.NewError(schemas.Unavailable, "", "the agent answered 502 Bad Gateway").With("excerpt", "no upstream"))
			view.Task(w, task)
		}},
		{"canceled", func(w io.Writer) { view.Task(w, canceled()) }},
		{"tasks", func(w io.Writer) { view.Tasks(w, []schemas.Task{*completed(), *queued(), *failed()}) }},
		{"no_tasks", func(w io.Writer) { view.Tasks(w, nil) }},
		{"ended", func(w io.Writer) {
			view.Ended(w, completed())
			view.Ended(w, failed())
		}},
		{"agents", func(w io.Writer) {
			view.Agents(w, []schemas.Agent{*agent(), {AgentID: "phone-1", State: schemas.AgentOffline}})
		}},
		{"agent", func(w io.Writer) { view.Agent(w, agent()) }},
		{"agent_aligned", func(w io.Writer) { view.Agent(w, alignedAgent()) }},
		{"capabilities", func(w io.Writer) { view.Capabilities(w, []schemas.Capability{capability(), {ID: "test_run"}}) }},
		{"capability", func(w io.Writer) { c := capability(); view.Capability(w, &c) }},
		{"dead_letters", func(w io.Writer) { view.DeadLetters(w, []schemas.Task{*dead(), *completed()}) }},
		{"dead_letter", func(w io.Writer) { view.DeadLetter(w, &schemas.Trace{Task: *dead(), Hops: decisions()}) }},
		{"decisions", func(w io.Writer) { view.Decisions(w, &schemas.Trace{Task: *completed(), Hops: decisions()}) }},
		{"no_decisions", func(w io.Writer) { view.Decisions(w, &schemas.Trace{Task: *queued()}) }},
		{"explanation", func(w io.Writer) { view.Explanation(w, explanation()) }},
		{"decisions_preferred", func(w io.Writer) { view.Decisions(w, &schemas.Trace{Task: *completed(), Hops: preferences()}) }},
		{"explanation_preferred", func(w io.Writer) { view.Explanation(w, preferring("laptop-1", "laptop-1")) }},
		{"explanation_preferred_full", func(w io.Writer) { view.Explanation(w, preferring("laptop-1", "desk-2")) }},
		{"explanation_preferred_away", func(w io.Writer) { view.Explanation(w, preferring("phone-1", "desk-2")) }},
		{"explanation_missed", func(w io.Writer) {
			e := explanation()
			e.Share, e.ShareMissed = "2.x", true
			view.Explanation(w, e)
		}},
		{"decisions_shares", func(w io.Writer) { view.Decisions(w, &schemas.Trace{Task: *completed(), Hops: shares()}) }},
		{"explanation_without_agents", func(w io.Writer) {
			view.Explanation(w, &schemas.Explanation{Capability: "summarize", Rule: "capability", Strategy: "score"})
		}},
		{"trace", func(w io.Writer) { view.Trace(w, trace()) }},
		{"trace_without_hops", func(w io.Writer) { view.Trace(w, &schemas.Trace{TraceID: "t", Task: *queued()}) }},
	} {
		t.Run(tt.golden, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			tt.draw(&got)
			compare(t, filepath.Join("testdata", tt.golden+".golden"), got.Bytes())
		})
	}
}

func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestTextShowsWhatWouldNotPrint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, é and 漢字": "plain, é and 漢字",
		"\x1b[31mred":     `\u001b[31mred`,
		"\u009b31m":       `\u009b31m`,
		"a\nb\tc":         `a\u000ab\u0009c`,
		"abc\u202edef":    `abc\u202edef`,
		"\U000e0041 tags": `\udb40\udc41 tags`,
	} {
		if got := view.Text(text); got != want {
			t.Errorf("Text(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestLineKeepsEveryLiteral(t *testing.T) {
	t.Parallel()
	const spread = "{\n  \"n\": [9007199254740993, 1.0, 1e2, -0],\n  \"s\": \"<\\u00e9>\"\n}"
	if got, want := view.Line([]byte(spread)), `{"n":[9007199254740993,1.0,1e2,-0],"s":"<\u00e9>"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		task *schemas.Task
		want string
	}{
		{"it runs", working(), taskID + "  working on laptop-1  12s  40 %, reading"},
		{"it waits for a slot", queued(), taskID + "  submitted (queued, position 3, starts in about 1.2s)  12s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := view.Waiting(tt.task, 12700*time.Millisecond); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func at(ms int) schemas.Time {
	return schemas.At(time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond))
}

func working() *schemas.Task {
	fraction := 0.4
	return &schemas.Task{
		TaskID: taskID, State: schemas.StateWorking, Phase: schemas.PhaseAssigned, Capability: "summarize", AgentID: "laptop-1",
		Attempt: 1, SubmittedAt: at(0), ExpiresAt: at(86_400_000), Progress: &schemas.Progress{Fraction: &fraction, Message: "reading"},
	}
}

func queued() *schemas.Task {
	t := working()
	t.State, t.Phase, t.AgentID, t.Attempt, t.Progress = schemas.StateSubmitted, schemas.PhaseQueued, "", 0, nil
	t.Queue = &schemas.Queue{Position: 3, EstimatedStartMS: 1200}
	return t
}

func completed() *schemas.Task {
	t := working()
	t.State, t.Phase, t.Progress = schemas.StateCompleted, schemas.PhaseDone, nil
	t.FinishedAt, t.Result = at(1250), schemas.Payload(`{"summary":"Ships sail."}`)
	return t
}

func failed() *schemas.Task {
	t := working()
	t.State, t.Phase, t.Progress, t.FinishedAt = schemas.StateFailed, schemas.PhaseDone, nil, at(90_000)
	t.Error = schemas.NewError(schemas.Aborted, schemas.ReasonMayHaveExecuted, "the agent died; the task \x1b[1mmay\x1b[0m have run")
	return t
}

func dead() *schemas.Task {
	t := failed()
	t.Capability, t.DeadLetter, t.KeptUntil = "test_run", true, at(604_800_000)
	t.LateResult, t.RetriedAs = schemas.Payload(`{"passed": true}`), "01a226c0-0000-7b1e-9d54-0f6a3f1f8a10"
	return t
}

// decisions are the hops of a task that two agents had before the one that has it.
func decisions() []schemas.Hop {
	return []schemas.Hop{
		hop("submitted", 0, "dispatcher-7f3a", ""),
		hop("routed", 1, "dispatcher-7f3a", `{"rule": "capability", "winner": "desk-2", "chain": ["desk-2", "laptop-1"], "online": 2,
			"candidates": [{"agent_id": "desk-2", "score": 0.9123, "taken": 0}, {"agent_id": "laptop-1", "score": 0.8, "taken": 0.5}],
			"left_out": [{"agent_id": "phone-1", "why": "offline"}, {"agent_id": "desk-3", "why": "breaker"}],
			"factors": {"current_load": [1, 0.667], "history_success": [0.8]}}`),
		hop("adapter_request", 3, "desk-2", ""),
		hop("routed", 250, "dispatcher-7f3a",
			`{"rule": "failover", "from": "desk-2", "code": "UNAVAILABLE", "reason": "CANNOT_CONNECT", "online": 1}`),
		hop("routed", 900, "dispatcher-1c0e", `{"rule": "bound", "winner": "desk-4\u001b[1m"}`),
		hop("routed", 5900, "dispatcher-1c0e", `{"rule": "rescue", "from": "desk-4", "winner": "laptop-1", "chain": ["laptop-1"],
			"candidates": [{"agent_id": "laptop-1", "score": 0.75, "taken": 1}]}`),
		hop("routed", 6000, "dispatcher-1c0e", `"not as expected"`),
	}
}

func explanation() *schemas.Explanation {
	factors := func(load, success float64) map[string]float64 {
		return map[string]float64{"current_load": load, "history_success": success, "schema_match": 1, "cost": 0.5}
	}
	return &schemas.Explanation{
		Capability: "summarize", Rule: "capability", Strategy: "score", Winner: "desk-2", Chain: []string{"desk-2", "laptop-1"},
		Candidates: []schemas.ExplainedCandidate{
			{AgentID: "desk-2", Score: 0.912, Slots: 4, Factors: factors(1, 0.98)},
			{AgentID: "laptop-1", Score: 0.81, InFlight: 1, Slots: 2, Factors: factors(0.667, 0.8)},
		},
		LeftOut: []schemas.LeftOut{{AgentID: "phone-1", Why: "offline"}, {AgentID: "desk-3", Why: "version"}},
	}
}

// preferences are the decisions about tasks that would rather have been with an agent: it got the first.
func preferences() []schemas.Hop {
	const candidates = `"candidates": [{"agent_id": "laptop-1", "score": 0.7, "taken": 0.5}, {"agent_id": "desk-2", "score": 0.9, "taken": 0}]`
	return []schemas.Hop{
		hop("routed", 1, "dispatcher-7f3a", `{"rule": "capability", "preferred": "laptop-1", "winner": "laptop-1", `+candidates+`}`),
		hop("routed", 2, "dispatcher-7f3a", `{"rule": "capability", "preferred": "laptop-1", "winner": "desk-2", `+candidates+`}`),
		hop("routed", 3, "dispatcher-7f3a", `{"rule": "capability", "preferred": "nobody", "winner": "desk-2", `+candidates+`,
			"left_out": [{"agent_id": "nobody", "why": "unknown"}]}`),
	}
}

func shares() []schemas.Hop {
	return []schemas.Hop{
		hop("routed", 1, "dispatcher-7f3a", `{"rule": "route", "route": "rollout", "share": "2.x", "winner": "desk-2"}`),
		hop("routed", 2, "dispatcher-7f3a", `{"rule": "route", "route": "rollout", "share": "2.x", "share_missed": true, "winner": "desk-1"}`),
		hop("routed", 3, "dispatcher-7f3a", `{"rule": "route", "route": "rollout", "share_missed": true, "winner": "desk-2"}`),
	}
}

func preferring(agentID, winner string) *schemas.Explanation {
	e := explanation()
	e.Preferred, e.Winner = agentID, winner
	return e
}

func canceled() *schemas.Task {
	t := working()
	t.State, t.Phase, t.Progress, t.FinishedAt = schemas.StateCanceled, schemas.PhaseDone, nil, at(300)
	t.Cancel = &schemas.Cancel{Won: true}
	return t
}

func agent() *schemas.Agent {
	return &schemas.Agent{
		AgentID: "laptop-1", State: schemas.AgentOnline, LastSeenAt: at(15_000), InFlight: 1, LoadAvg: new(0.42),
		Registration: schemas.Registration{
			AgentID: "laptop-1", Version: "1.2.0", Service: "notes-helper", Groups: []string{"default"},
			Transport:    schemas.Transport{Type: "http", Endpoint: "http://127.0.0.1:9000/run"},
			Capabilities: []schemas.Offer{{ID: "summarize", MaxConcurrency: 2}, {ID: "text_stats"}},
			Metadata:     []byte(`{"device_type": "laptop"}`),
		},
	}
}

func alignedAgent() *schemas.Agent {
	a := agent()
	a.Registration.Capabilities[0].Alignment = &schemas.Alignment{
		Input:  []schemas.Spelling{{At: "/max_sentences", Name: "maxSentences"}, {At: "/since", TimeFrom: schemas.TimeText, TimeTo: schemas.TimeMillis}},
		Output: []schemas.Spelling{{At: "/kind", Name: "Kind\x1b", Enum: map[string]string{"plain": "PLAIN", "marked_up": "MarkedUp"}}},
	}
	return a
}

func capability() schemas.Capability {
	return schemas.Capability{
		ID: "text_stats", Description: "Count characters, words and lines of a text.", Idempotent: true, TimeoutHintMS: 5000,
		InputSchema: []byte(`{"type":"object","required":["text"]}`), OutputSchema: []byte(`{"type": "object"}`),
		Aliases: []string{"count_words"}, Probe: schemas.Payload(`{"text":"ping"}`),
	}
}

func hop(name string, ms int, by, detail string) schemas.Hop {
	return schemas.Hop{Hop: name, At: at(ms), By: by, Detail: []byte(detail)}
}

func trace() *schemas.Trace {
	return &schemas.Trace{
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Task: *completed(),
		Hops: []schemas.Hop{
			hop("submitted", 0, "dispatcher-7f3a", ""),
			hop("routed", 1, "dispatcher-7f3a", `{"rule": "capability", "winner": "laptop-1", "note": "\u001b[31m"}`),
			hop("published", 2, "dispatcher-7f3a", ""),
			hop("received", -3, "laptop-1", ""),
			hop("adapter_request", 250, "laptop-1", `{"text": "`+string(bytes.Repeat([]byte("long "), 30))+`"}`),
			hop("agent_done", 1200, "laptop-1", "no JSON"),
			hop("stored", 1250, "ledger", ""),
		},
	}
}

func TestALargeResultIsCutInBrief(t *testing.T) {
	t.Parallel()
	large := completed()
	large.Result = schemas.Payload(`"` + strings.Repeat("ä", 1<<20) + `"`)
	var brief, whole bytes.Buffer
	view.TaskInBrief(&brief, large)
	view.Task(&whole, large)
	want := fmt.Sprintf("… %d bytes; reach result get %s --to FILE", len(large.Result), large.TaskID)
	if got := brief.String(); len(got) > 6<<10 || !strings.Contains(got, want) {
		t.Errorf("got %d bytes", len(got))
	}
	if whole.Len() < len(large.Result) {
		t.Errorf("the whole has %d bytes", whole.Len())
	}
	brief.Reset()
	whole.Reset()
	view.TaskInBrief(&brief, completed())
	view.Task(&whole, completed())
	if brief.String() != whole.String() {
		t.Error("a small result is cut")
	}
}

func TestOneOfAThingIsOne(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 2: "2 bytes"} {
		if got := view.Count(n, "byte"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for attempts, want := range map[int]string{1: "waiting, 1 attempt: https://a.example/", 2: "waiting, 2 attempts: https://a.example/"} {
		task := working()
		task.Callback = &schemas.Callback{State: schemas.CallbackWaiting, Attempts: attempts, URL: "https://a.example/"}
		var out strings.Builder
		if view.Task(&out, task); !strings.Contains(out.String(), want) {
			t.Errorf("%s\ndoes not say %q", out.String(), want)
		}
	}
}
