package schemas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

// checkCase is a message with some members replaced, and the refusal that it earns. No field means that it is fine.
type checkCase struct {
	name    string
	members string // JSON members, each in place of the base's; null takes one away
	field   string
	message string // part of the message
}

// checkable is a wire type with a Check.
type checkable interface{ Check() *schemas.Error }

// runChecks tries each case on the base message. What Check takes must also fit the JSON Schema of that name.
func runChecks(t *testing.T, schema, base string, newMessage func() checkable, cases []checkCase) {
	t.Helper()
	published := schemaOf(t, schema)
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := replaceMembers(t, base, tt.members)
			message := newMessage()
			if err := schemas.Accept(text, message); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			problem := message.Check()
			if tt.field == "" {
				if problem != nil {
					t.Errorf("refused: %s %s", problem, schemas.MustEncode(problem))
				}
				if violation := published.Check(text); violation != nil {
					t.Errorf("Check takes what the JSON Schema refuses: %+v", violation)
				}
				return
			}
			if problem == nil {
				t.Fatal("accepted")
			}
			if got := fieldOf(problem); got != tt.field || !strings.Contains(problem.Message, tt.message) {
				t.Errorf("got %s at %s, want %q at %s", problem, got, tt.message, tt.field)
			}
		})
	}
}

func replaceMembers(t *testing.T, base, members string) []byte {
	t.Helper()
	all := make(map[string]schemas.Payload)
	for _, text := range []string{base, "{" + members + "}"} {
		if err := schemas.Decode([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range all {
		if string(value) == "null" {
			delete(all, name)
		}
	}
	return schemas.MustEncode(all)
}

// repeat is a JSON list of n values made from a format with one number.
func repeat(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func text(n int) string { return `"` + strings.Repeat("x", n) + `"` }

func TestCheckReachMessage(t *testing.T) {
	t.Parallel()
	metadata := func(size int) string { return `"metadata":{"a":` + text(size-len(`{"a":""}`)) + `}` }
	callback := func(size int) string {
		const start = "https://example.org/"
		return `"callback":"` + start + strings.Repeat("x", size-len(start)) + `"`
	}
	const week = "604800000"
	cases := []checkCase{
		{"a capability is all it takes", ``, "", ""},
		{"an intent will do", `"capability":null,"intent":"Sum up this text!"`, "", ""},
		{"neither", `"capability":null`, "/capability", "required unless intent"},
		{"both", `"intent":"sum up"`, "/intent", "send one of the two"},
		{"a capability that is no name", `"capability":"a.>"`, "/capability", "lower-case letters"},
		{"an intent of 256 bytes", `"capability":null,"intent":` + text(256), "", ""},
		{"an intent of 257 bytes", `"capability":null,"intent":` + text(257), "/intent", "1 to 256 bytes"},
		{"an intent that cannot be printed", `"capability":null,"intent":"a\u0000b"`, "/intent", "printable"},

		{"the first version", `"v":1`, "", ""},
		{"a version of the future", `"v":2`, "/v", "send 1"},
		{"a version below zero", `"v":-1`, "/v", "send 1"},

		{"a key", `"msg_id":"订单 7 > *"`, "", ""},
		{"a key that is too long", `"msg_id":` + text(257), "/msg_id", "1 to 256 bytes"},
		{"a task_id", `"task_id":"01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"`, "", ""},
		{"a task_id of another kind", `"task_id":"7"`, "/task_id", "UUID version 7"},
		{"a retry of no task", `"retry_of":"x"`, "/retry_of", "UUID version 7"},
		{"an agent to prefer", `"prefer_agent":"laptop-1"`, "", ""},
		{"an agent that is a pattern", `"prefer_agent":">"`, "/prefer_agent", "lower-case letters"},

		{"no wait", `"timeout_ms":0`, "", ""},
		{"a week of wait", `"timeout_ms":` + week, "", ""},
		{"more than a week", `"timeout_ms":604800001`, "/timeout_ms", "0 to 604800000 milliseconds, which is 7 days"},
		{"the longest wait that an integer holds", `"timeout_ms":9223372036854775807`, "/timeout_ms", "7 days"},
		{"a wait below zero", `"timeout_ms":-1`, "/timeout_ms", "0 to"},
		{"a week of work", `"run_timeout_ms":` + week, "", ""},
		{"more work than a week", `"run_timeout_ms":604800001`, "/run_timeout_ms", "7 days"},
		{"work below zero", `"run_timeout_ms":-5`, "/run_timeout_ms", "0 to"},
		{"an end after the start", `"not_before":"2026-11-29T10:00:00Z","expires_at":"2026-11-29T10:00:01Z"`, "", ""},
		{
			"an end at the start", `"not_before":"2026-11-29T10:00:00Z","expires_at":"2026-11-29T10:00:00Z"`,
			"/expires_at", "after not_before",
		},

		{"the lowest priority", `"priority":0`, "", ""},
		{"the highest priority", `"priority":9`, "", ""},
		{"a higher one", `"priority":10`, "/priority", "from 0 to 9"},
		{"a lower one", `"priority":-1`, "/priority", "from 0 to 9"},
		{"each response mode", `"response_mode":"stream"`, "", ""},
		{"a strange response mode", `"response_mode":"push"`, "/response_mode", "one of sync, async, stream"},
		{"each quality", `"quality_of_service":"complete"`, "", ""},
		{"a strange quality", `"quality_of_service":"best"`, "/quality_of_service", "one of realtime, standard, complete"},

		{"a range of versions", `"version":">=1.2.0, <2"`, "", ""},
		{"a range by wildcard", `"version":"2.x"`, "", ""},
		{"no range", `"version":"newest"`, "/version", ">=1.2.0, <2"},
		{"an endless range", `"version":` + text(257), "/version", "a range"},
		{"a lowest version", `"min_version":"1.2.0"`, "", ""},
		{"half a lowest version", `"min_version":"1.2"`, "/min_version", "such as 1.2.0"},
		{"a range and a lowest version", `"version":"2.x","min_version":"1.2.0"`, "/min_version", "send one of the two"},

		{"a callback", `"callback":"https://example.org/hooks/reach?x=1"`, "", ""},
		{"a callback in capitals", `"callback":"HTTP://EXAMPLE.ORG"`, "", ""},
		{"a callback of 2048 bytes", callback(2048), "", ""},
		{"a callback of 2049 bytes", callback(2049), "/callback", "at most 2048 bytes"},
		{"a callback with a password", `"callback":"https://user:hunter2@example.org/"`, "/callback", "without user name"},
		{"a callback to a file", `"callback":"file:///etc/passwd"`, "/callback", "http or https"},
		{"a callback that is a path", `"callback":"/hooks"`, "/callback", "http or https"},
		{"a callback to nobody", `"callback":"https:///hooks"`, "/callback", "http or https"},
		{"a callback to a port of nobody", `"callback":"https://:80/hooks"`, "/callback", "http or https"},
		{"a callback without slashes", `"callback":"https:example.org"`, "/callback", "http or https"},
		{"a callback that is a script", `"callback":"javascript:alert(1)"`, "/callback", "http or https"},
		{"a callback with a line break", `"callback":"https://example.org/\r\nX: y"`, "/callback", "http or https"},

		{"32 tags of 64 bytes", `"tags":` + repeat(32, `"%064d"`), "", ""},
		{"33 tags", `"tags":` + repeat(33, `"%d"`), "/tags", "at most 32"},
		{"a tag of 65 bytes", `"tags":["a",` + text(65) + `]`, "/tags/1", "1 to 64 bytes"},
		{"an empty tag", `"tags":[""]`, "/tags/0", "1 to 64 bytes"},
		{"a tag that cannot be printed", `"tags":["a\u200b"]`, "/tags/0", "printable"},
		{"metadata of 16 KiB", metadata(schemas.MaxMetadataBytes), "", ""},
		{"metadata of one byte more", metadata(schemas.MaxMetadataBytes + 1), "/metadata", "at most 16384 bytes"},
		{"metadata that is a list", `"metadata":[]`, "/metadata", "a JSON object"},
		{"a strange trace is no reason to refuse", `"traceparent":"xyz","trace_id":"7"`, "", ""},
		{"strange members are no reason to refuse", `"newer":{"a":1}`, "", ""},
	}
	runChecks(t, "reach_message", `{"capability":"summarize"}`, func() checkable { return new(schemas.ReachMessage) }, cases)
}

func TestCheckNullMetadata(t *testing.T) {
	t.Parallel()
	message := &schemas.ReachMessage{Capability: "echo", Metadata: []byte("null")}
	if problem := message.Check(); problem == nil || fieldOf(problem) != "/metadata" {
		t.Errorf("got %v", problem)
	}
}

func TestUnderstoodVersionsHaveTheirOwnCode(t *testing.T) {
	t.Parallel()
	problem := (&schemas.ReachMessage{V: 7, Capability: "echo"}).Check()
	if problem == nil || problem.Code != schemas.FailedPrecondition || problem.Reason != schemas.ReasonVersion {
		t.Errorf("got %v", problem)
	}
}

func TestCheckDropsStrangeTraces(t *testing.T) {
	t.Parallel()
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	zeros := strings.Repeat("0", 32)
	tests := []struct {
		name, header string
		kept         bool
	}{
		{"the form of today", "00-" + id + "-" + span + "-01", true},
		{"not sampled", "00-" + id + "-" + span + "-00", true},
		{"the version that never will be", "ff-" + id + "-" + span + "-01", false},
		{"no trace", "00-" + zeros + "-" + span + "-01", false},
		{"no span", "00-" + id + "-" + zeros[:16] + "-01", false},
		{"in capitals", "00-" + strings.ToUpper(id) + "-" + span + "-01", false},
		{"too short", "00-" + id[1:] + "-" + span + "-01", false},
		{"something after it", "00-" + id + "-" + span + "-01-x", false},
		{"a second header", "00-" + id + "-" + span + "-01\r\nX: y", false},
		{"nothing", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message := &schemas.ReachMessage{Capability: "echo", Traceparent: tt.header, TraceID: id}
			if problem := message.Check(); problem != nil {
				t.Fatal(problem)
			}
			want := ""
			if tt.kept {
				want = tt.header
			}
			if message.Traceparent != want || message.TraceID != id {
				t.Errorf("traceparent %q, trace_id %q", message.Traceparent, message.TraceID)
			}
		})
	}
	for _, strange := range []string{zeros, id[1:], strings.ToUpper(id), id + "0", "x"} {
		message := &schemas.ReachMessage{Capability: "echo", TraceID: strange}
		if problem := message.Check(); problem != nil || message.TraceID != "" {
			t.Errorf("trace_id %q stays %q, %v", strange, message.TraceID, problem)
		}
	}
}

func TestRefusalsQuoteNoValue(t *testing.T) {
	t.Parallel()
	const hidden = "Hunter2!"
	messages := []checkable{
		&schemas.ReachMessage{Capability: hidden},
		&schemas.ReachMessage{Intent: hidden + "\n"},
		&schemas.ReachMessage{Capability: "a", MsgID: hidden + "\n"},
		&schemas.ReachMessage{Capability: "a", PreferAgent: hidden},
		&schemas.ReachMessage{Capability: "a", Callback: "ftp://u:" + hidden + "@example.org"},
		&schemas.ReachMessage{Capability: "a", ResponseMode: hidden},
		&schemas.ReachMessage{Capability: "a", Version: hidden},
		&schemas.ReachMessage{Capability: "a", Tags: []string{hidden + "\n"}},
		&schemas.Registration{AgentID: "a", InstanceID: "b", Version: "1.0.0", Transport: schemas.Transport{
			Type: "http", Endpoint: "http://u:" + hidden + "@example.org",
		}},
	}
	for i, message := range messages {
		problem := message.Check()
		if problem == nil {
			t.Errorf("message %d passes", i)
			continue
		}
		if said := string(schemas.MustEncode(problem)); strings.Contains(said, hidden) {
			t.Errorf("message %d is quoted: %s", i, said)
		}
	}
}

const registrationBase = `{
	"agent_id": "laptop-1", "instance_id": "01a226bf-21f0-7aaa-8bbb-0123456789ab", "version": "1.2.0",
	"transport": {"type": "http"}, "capabilities": ["summarize"]
}`

func TestCheckRegistration(t *testing.T) {
	t.Parallel()
	offer := func(members string) string { return `"capabilities":["echo",{"id":"summarize",` + members + `}]` }
	adoptedWith := func(transport string) string {
		return `"instance_id":null,"adopt":true,"transport":{` + transport + `}`
	}
	adopted := func(transport, endpoint string) string {
		return adoptedWith(fmt.Sprintf(`"type":%q,"endpoint":%q`, transport, endpoint))
	}
	mapping := func(n int) string {
		entries := make([]string, n)
		for i := range entries {
			entries[i] = fmt.Sprintf(`"E%d":"INTERNAL"`, i)
		}
		return `"error_mapping":{` + strings.Join(entries, ",") + `}`
	}
	cases := []checkCase{
		{"the least that an agent says", ``, "", ""},
		{"a newer wire version", `"v":9`, "/v", "send 1"},
		{"no name", `"agent_id":null`, "/agent_id", "lower-case letters"},
		{"a name that is a pattern", `"agent_id":"*"`, "/agent_id", "lower-case letters"},
		{"no instance", `"instance_id":null`, "/instance_id", "1 to 64"},
		{"an instance with a separator", `"instance_id":"a.b"`, "/instance_id", "1 to 64"},
		{"a version with everything", `"version":"1.2.0-rc.1+build.5"`, "", ""},
		{"no version", `"version":null`, "/version", "such as 1.2.0"},
		{"half a version", `"version":"1.2"`, "/version", "such as 1.2.0"},
		{"a version with a v", `"version":"v1.2.0"`, "/version", "such as 1.2.0"},
		{"a service", `"service":"Notes helper"`, "", ""},
		{"a service with a line break", `"service":"a\nb"`, "/service", "printable"},

		{"no transport", `"transport":{}`, "/transport/type", "printable"},
		{"an address", `"transport":{"type":"grpc","endpoint":"127.0.0.1:50051"}`, "", ""},
		{
			"an address with a password", `"transport":{"type":"http","endpoint":"http://u:p@h/run"}`,
			"/transport/endpoint", "without user name",
		},
		{
			"a health check with a password", `"transport":{"type":"http","health_check":"http://u:p@h/z"}`,
			"/transport/health_check", "without user name",
		},
		{"an endless address", `"transport":{"type":"http","endpoint":` + text(2049) + `}`, "/transport/endpoint", "1 to 2048 bytes"},

		{"no capability", `"capabilities":[]`, "/capabilities", "1 to 256"},
		{"256 capabilities", `"capabilities":` + repeat(256, `"c%d"`), "", ""},
		{"257 capabilities", `"capabilities":` + repeat(257, `"c%d"`), "/capabilities", "1 to 256"},
		{"one capability twice", `"capabilities":["echo","summarize",{"name":"echo"}]`, "/capabilities/2/id", "echo is there twice"},
		{"a capability that is no name", `"capabilities":["echo","Web-Search"]`, "/capabilities/1/id", "lower-case letters"},
		{"a capability without a name", `"capabilities":[{}]`, "/capabilities/0/id", "lower-case letters"},
		{"10,000 slots", offer(`"max_concurrency":10000`), "", ""},
		{"10,001 slots", offer(`"max_concurrency":10001`), "/capabilities/1/max_concurrency", "from 0 to 10000"},
		{"slots below zero", offer(`"max_concurrency":-1`), "/capabilities/1/max_concurrency", "from 0 to 10000"},
		{"10,000 slots over all", `"max_concurrency":10000`, "", ""},
		{"10,001 slots over all", `"max_concurrency":10001`, "/max_concurrency", "from 0 to 10000"},
		{"a latency below zero", offer(`"expected_latency_ms":-1`), "/capabilities/1/expected_latency_ms", "0 to"},
		{"a hint below zero", offer(`"timeout_hint_ms":-1`), "/capabilities/1/timeout_hint_ms", "0 to"},
		{"a price of nothing", offer(`"cost_per_call":0`), "", ""},
		{"a price below zero", offer(`"cost_per_call":-0.1`), "/capabilities/1/cost_per_call", "a number from 0"},
		{"tags", offer(`"tags":["a b"]`), "", ""},
		{"an empty tag", offer(`"tags":["a",""]`), "/capabilities/1/tags/1", "1 to 64"},
		{"a long description", offer(`"description":` + text(4096)), "", ""},
		{"a longer description", offer(`"description":` + text(4097)), "/capabilities/1/description", "4096"},
		{"a mapping of errors", offer(`"error_mapping":{"E40001":"INVALID_ARGUMENT","exit_2":"NOT_FOUND"}`), "", ""},
		{"a mapping to a strange code", offer(`"error_mapping":{"E1":"BAD"}`), "/capabilities/1/error_mapping", "one of CANCELLED"},
		{"a mapping of nothing", offer(`"error_mapping":{"":"INTERNAL"}`), "/capabilities/1/error_mapping", "1 to 128 bytes"},
		{"256 mappings", offer(mapping(256)), "", ""},
		{"257 mappings", offer(mapping(257)), "/capabilities/1/error_mapping", "at most 256"},

		{"metadata", `"metadata":{"gpu":false,"cost_weight":0.5}`, "", ""},
		{"metadata that is a string", `"metadata":"laptop"`, "/metadata", "a JSON object"},
		{"a weight of nothing", `"metadata":{"cost_weight":0}`, "", ""},
		{"a weight that would be a reward", `"metadata":{"cost_weight":-1}`, "/metadata/cost_weight", "a number from 0"},
		{"a weight in words", `"metadata":{"cost_weight":"low"}`, "/metadata/cost_weight", "a number from 0"},

		{"to be adopted", adopted("http", "http://127.0.0.1:9000/run"), "", ""},
		{"to be adopted over a stream", adopted("sse", "https://example.org/run"), "", ""},
		{"to be adopted over a socket", adopted("websocket", "ws://127.0.0.1:9000/run"), "", ""},
		{"to be adopted by a program", adopted("grpc", "127.0.0.1:9000"), "/transport/type", "http, sse or websocket"},
		{"to be adopted as a program", adopted("subprocess", "rm"), "/transport/type", "http, sse or websocket"},
		{"to be adopted nowhere", adopted("http", ""), "/transport/endpoint", "http:// or https://"},
		{"to be adopted at no address", adopted("http", "not a url"), "/transport/endpoint", "http:// or https://"},
		{"to be adopted at a path", adopted("http", "/run"), "/transport/endpoint", "http:// or https://"},
		{"to be adopted at a file", adopted("http", "file:///etc/passwd"), "/transport/endpoint", "http:// or https://"},
		{"to be given what it wants", adoptedWith(`"type":"sse","endpoint":"http://h/","input":"execute"`), "", ""},
		{"to be given what nobody knows", adoptedWith(`"type":"http","endpoint":"http://h/","input":"everything"`), "/transport/input", "one of payload, message, execute"},
		{"a socket that is to be given one of several", adoptedWith(`"type":"websocket","endpoint":"ws://h/","input":"message"`), "/transport/input", "nothing where type is websocket"},
		{"a socket that is to be asked elsewhere", adoptedWith(`"type":"websocket","endpoint":"ws://h/","health_check":"http://h/"`), "/transport/health_check", "nothing where type is websocket"},
		{"a socket at another address", adopted("websocket", "http://127.0.0.1:9000/run"), "/transport/endpoint", "ws:// or wss://"},
		{
			"to be adopted with a check that is none", `"adopt":true,"transport":{"type":"http","endpoint":"http://h/run","health_check":"/z"}`,
			"/transport/health_check", "an http or https URL",
		},
		{"groups", `"groups":["default","gpu"]`, "", ""},
		{"a group that is a pattern", `"groups":["default",">"]`, "/groups/1", "lower-case letters"},
		{"too many groups", `"groups":` + repeat(65, `"g%d"`), "/groups", "at most 64"},
		{"the lowest priority", `"priority":0`, "", ""},
		{"the highest priority", `"priority":100`, "", ""},
		{"a higher one", `"priority":101`, "/priority", "from 0 to 100"},
		{"strange members are no reason to refuse", `"newer":1`, "", ""},
	}
	runChecks(t, "registration", registrationBase, func() checkable { return new(schemas.Registration) }, cases)
}

const resultBase = `{
	"task_id": "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10", "agent_id": "laptop-1", "attempt": 1, "sequence": 4711,
	"state": "completed", "result": {"summary": "x"}
}`

func TestCheckResult(t *testing.T) {
	t.Parallel()
	const failure = `"state":"failed","result":null,"error":{"code":"INTERNAL","message":"stopped"}`
	cases := []checkCase{
		{"a result", ``, "", ""},
		{"a failure", failure, "", ""},
		{"a refusal", `"state":"rejected","result":null,"error":{"code":"INVALID_ARGUMENT","message":"no"},"ran":"no"`, "", ""},
		{"a newer wire version", `"v":2`, "/v", "send 1"},
		{"of no task", `"task_id":null`, "/task_id", "UUID version 7"},
		{"of no agent", `"agent_id":null`, "/agent_id", "lower-case letters"},
		{"of no attempt", `"attempt":0`, "/attempt", "from 1"},
		{"of no assignment", `"sequence":0`, "/sequence", "the sequence of the assignment"},
		{"a process and a write", `"instance_id":"01a226bf-21f0-7aaa-8bbb-0123456789ab","write_id":"9f2c41d7a0b35e68"`, "", ""},
		{"a write with a line break", `"write_id":"a\r\nb"`, "/write_id", "1 to 64"},
		{"a process that is a pattern", `"instance_id":">"`, "/instance_id", "1 to 64"},
		{"no state", `"state":null`, "/state", "completed, failed or rejected"},
		{"a state that is not a worker's to give", `"state":"canceled"`, "/state", "completed, failed or rejected"},
		{"nothing to show", `"result":null`, "/result", "null too"},
		{"chunks are something to show", `"result":null,"chunks":3`, "", ""},
		{"a result and an error", `"error":{"code":"INTERNAL","message":"x"}`, "/error", "nothing where state is completed"},
		{"a failure without a word", `"state":"failed","result":null`, "/error", "an error where state is failed"},
		{"a failure with a result", `"state":"failed","error":{"code":"INTERNAL"}`, "/result", "nothing where state is failed"},
		{"a failure in the agent's own code", strings.Replace(failure, "INTERNAL", "E40001", 1), "/error/code", "one of CANCELLED"},
		{"it did not run", failure + `,"ran":"no"`, "", ""},
		{"it ran perhaps", failure + `,"ran":"perhaps"`, "/ran", "one of no, unknown, yes"},
		{"chunks below zero", `"chunks":-1`, "/chunks", "from 0"},
		{"as many hops as a task may have", `"hops":` + repeat(64, `{"hop":"h%d","by":"a"}`), "", ""},
		{"more hops", `"hops":` + repeat(65, `{"hop":"h%d","by":"a"}`), "/hops", "at most 64"},
	}
	runChecks(t, "result", resultBase, func() checkable { return new(schemas.Result) }, cases)
}

func TestNullIsAResult(t *testing.T) {
	t.Parallel()
	var result schemas.Result
	if err := schemas.Accept(replaceMembers(t, resultBase, ``), &result); err != nil {
		t.Fatal(err)
	}
	result.Result = schemas.Payload("null")
	if problem := result.Check(); problem != nil {
		t.Error(problem)
	}
}

func BenchmarkCheckReachMessage(b *testing.B) {
	priority := 5
	message := schemas.ReachMessage{
		MsgID: "notes-2026-11-29-7", Capability: "summarize", TimeoutMS: 60000, Priority: &priority, Tags: []string{"notes"},
		PreferAgent: "laptop-1", Callback: "https://example.org/hooks/reach", Metadata: []byte(`{"session_id":"s-1"}`),
		ResponseMode: schemas.ModeAsync, QualityOfService: schemas.QoSStandard,
	}
	b.ReportAllocs()
	for b.Loop() {
		if problem := message.Check(); problem != nil {
			b.Fatal(problem)
		}
	}
}

func ExampleReachMessage_Check() {
	priority := 12
	message := &schemas.ReachMessage{Capability: "summarize", Priority: &priority}
	problem := message.Check()
	fmt.Println(problem)
	fmt.Println(problem.Reason)
	// Output:
	// INVALID_ARGUMENT: priority takes an integer from 0 to 9
	// BAD_VALUE
}
