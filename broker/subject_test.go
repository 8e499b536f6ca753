package broker_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

const task = "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"

func TestSubjects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, got, want string }{
		{"a pull", broker.SubjectPull("laptop-1"), "reach.pull.laptop-1"},
		{"a begin", broker.SubjectBegin("laptop-1"), "reach.begin.laptop-1"},
		{"a finish", broker.SubjectFinish("laptop-1"), "reach.finish.laptop-1"},
		{"a release", broker.SubjectRelease("laptop-1"), "reach.release.laptop-1"},
		{"a heartbeat", broker.SubjectHeartbeat("laptop-1"), "reach.heartbeat.laptop-1"},
		{"a receipt", broker.SubjectReceipt("laptop-1"), "reach.receipt.laptop-1"},
		{"a control", broker.SubjectControl("laptop-1"), "reach.control.laptop-1"},
		{"a chunk", broker.SubjectChunk("laptop-1", task), "reach.chunk.laptop-1." + task},
		{"a credit", broker.SubjectCredit("laptop-1", task), "reach.credit.laptop-1." + task},
		{"a result", broker.SubjectResult("default", task), "reach.result.default." + task},
		{"an endpoint", broker.SubjectAPI("task", "submit"), "reach.api.task.submit"},
		{"what a device says", broker.SubjectDevice("phone-1", "submit"), "reach.v1.phone-1.submit"},
		{"what it hears", broker.SubjectDeviceIn("phone-1", "result"), "reach.v1.phone-1.in.result"},
		{"all that devices say", broker.SubjectDevice(broker.Any, broker.Any), "reach.v1.*.*"},
		{"a device that is a wildcard", broker.SubjectDeviceIn(">", "result"), ""},
		{"a device of two tokens", broker.SubjectDevice("a.b", "submit"), ""},
		{"every pull", broker.SubjectPull(broker.Any), "reach.pull.*"},
		{"every result of a tenant", broker.SubjectResult("default", broker.Any), "reach.result.default.*"},
		{"every credit of an agent", broker.SubjectCredit("laptop-1", broker.Any), "reach.credit.laptop-1.*"},
		{"an agent that is a tail wildcard", broker.SubjectPull(">"), ""},
		{"an agent of two tokens", broker.SubjectPull("a.b"), ""},
		{"an empty agent", broker.SubjectControl(""), ""},
		{"an agent with a line break", broker.SubjectFinish("a\r\nPUB x 0"), ""},
		{"no agent where there must be one", broker.SubjectPull(schemas.NoAgent), ""},
		{"a chunk of what is not a task", broker.SubjectChunk("laptop-1", "1"), ""},
		{"a result of what is not a tenant", broker.SubjectResult("A", task), ""},
		{"an endpoint that is not a word", broker.SubjectAPI("task", "submit.>"), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestParseDevice(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		"reach.v1.phone-1.submit": "phone-1 submit", "reach.v1.*.submit": "", "reach.v1.phone-1.*": "", "reach.v1.Phone.submit": "",
		"reach.v1.phone-1.in.result": "", "reach.v1.phone-1": "", "reach.v2.phone-1.submit": "", "": "", "reach.v1..submit": "",
	} {
		device, verb, ok := broker.ParseDevice(subject)
		if ok != (want != "") || ok && device+" "+verb != want {
			t.Errorf("%q: %q %q %v", subject, device, verb, ok)
		}
	}
}

func TestParseSubject(t *testing.T) {
	t.Parallel()
	assigned := broker.Entry{TaskID: task, Phase: schemas.PhaseAssigned, Capability: "summarize", Agent: "laptop-1"}
	free := broker.Entry{TaskID: task, Phase: schemas.PhaseQueued, Capability: "a", Agent: schemas.NoAgent}
	for _, tt := range []struct {
		name, subject string
		want          broker.Entry
		ok            bool
	}{
		{"a ledger subject", "reach.task." + task + ".assigned.summarize.laptop-1", assigned, true},
		{"the same in the feed", "reach.feed.assigned.summarize.laptop-1." + task, assigned, true},
		{"a task without an agent", "reach.task." + task + ".queued.a.-", free, true},
		{"the same in the feed", "reach.feed.queued.a.-." + task, free, true},
		{"nothing", "", broker.Entry{}, false},
		{"another tree", "other.task." + task + ".queued.a.-", broker.Entry{}, false},
		{"another branch", "reach.pull.a.b.c.d", broker.Entry{}, false},
		{"a token too few", "reach.task." + task + ".queued.a", broker.Entry{}, false},
		{"a token too many", "reach.task." + task + ".queued.a.-.x", broker.Entry{}, false},
		{"an unknown phase", "reach.task." + task + ".lost.a.-", broker.Entry{}, false},
		{"a task in upper case", "reach.task." + strings.ToUpper(task) + ".queued.a.-", broker.Entry{}, false},
		{"a wildcard", "reach.task." + task + ".queued.*.-", broker.Entry{}, false},
		{"the feed's order in the ledger", "reach.task.queued.a.-." + task, broker.Entry{}, false},
	} {
		got, err := broker.ParseSubject(tt.subject)
		if ok := err == nil; ok != tt.ok {
			t.Errorf("%s: got %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func FuzzParseSubject(f *testing.F) {
	f.Add("reach.task." + task + ".assigned.summarize.laptop-1")
	f.Add("reach.feed.queued.a.-." + task)
	f.Add("reach.task.*.>")
	f.Fuzz(func(t *testing.T, subject string) {
		e, err := broker.ParseSubject(subject)
		if err != nil {
			if e.Subject() != "" {
				t.Fatalf("%q is refused, but an entry", subject)
			}
			return
		}
		if strings.ContainsAny(subject, "*> \r\n\t") {
			t.Fatalf("%q is accepted", subject)
		}
		if again, err := broker.ParseSubject(e.Subject()); err != nil || !cmp.Equal(e, again) {
			t.Fatalf("%q does not survive a round trip: %v", subject, err)
		}
		if strings.HasPrefix(subject, "reach.task.") && e.Subject() != subject {
			t.Fatalf("%q became %q", subject, e.Subject())
		}
	})
}

func FuzzSubjects(f *testing.F) {
	f.Add("laptop-1", task)
	f.Add("*", ">")
	f.Fuzz(func(t *testing.T, name, other string) {
		for _, subject := range []string{
			broker.SubjectPull(name), broker.SubjectChunk(name, other), broker.SubjectResult(name, other),
			broker.SubjectAPI(name, other), broker.Entry{TaskID: other, Phase: "done", Capability: name, Agent: name}.Subject(),
		} {
			if strings.ContainsAny(subject, "> \r\n\t") || strings.Contains(subject, "..") || strings.HasSuffix(subject, ".") {
				t.Fatalf("%q and %q make the subject %q", name, other, subject)
			}
		}
	})
}

func BenchmarkParseSubject(b *testing.B) {
	for b.Loop() {
		if _, err := broker.ParseSubject("reach.feed.assigned.summarize.laptop-1." + task); err != nil {
			b.Fatal(err)
		}
	}
}
