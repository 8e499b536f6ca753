package workerfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/cmd/internal/workerfile"
	"github.com/agentreach/agent-reach/schemas"
)

// whole is the example of the documentation.
const whole = `
broker:
  url: nats://127.0.0.1:4222
  creds_file: agent.creds
agents:
  - agent_id: laptop-1
    version: 1.2.0
    max_concurrency: 4
    transport:
      type: http
      endpoint: http://me:pw@127.0.0.1:9000/run
      health_check: http://127.0.0.1:9000/healthz
      input: payload
    capabilities:
      - id: summarize
        max_concurrency: 2
        error_mapping: {E40001: INVALID_ARGUMENT}
        input_schema: {properties: {text: {maxLength: 20000}}}
    metadata: {device_type: laptop, cost_weight: 0.50, big: 9007199254740993, hex: 0x10}
  - agent_id: laptop-1-stats
    transport:
      type: subprocess
      command: [./text-stats, 7]
      mode: per_task
      env: {PORT: 8080}
    capabilities:
      - text_stats
      - name: echo
`

func TestTheWholeFile(t *testing.T) {
	t.Parallel()
	file, dir, err := read(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := file.Broker.CredsFile, filepath.Join(dir, "agent.creds"); got != want {
		t.Errorf("creds_file = %s, want %s", got, want)
	}
	http, stats := file.Agents[0], file.Agents[1]
	got := string(schemas.MustEncode(http.Registration()))
	want := `{"v":1,"agent_id":"laptop-1","version":"1.2.0",` +
		`"transport":{"type":"http","endpoint":"http://127.0.0.1:9000/run","health_check":"http://127.0.0.1:9000/healthz"},` +
		`"max_concurrency":4,"capabilities":[{"id":"summarize","input_schema":{"properties":{"text":{"maxLength":20000}}},` +
		`"max_concurrency":2,"error_mapping":{"E40001":"INVALID_ARGUMENT"}}],` +
		`"metadata":{"big":9007199254740993,"cost_weight":0.50,"device_type":"laptop","hex":16}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if http.Transport.Endpoint != "http://me:pw@127.0.0.1:9000/run" {
		t.Error("the worker itself lost the credentials")
	}
	if diff := cmp.Diff([]string{"./text-stats", "7"}, stats.Transport.Command); diff != "" {
		t.Error(diff)
	}
	if stats.Transport.Env["PORT"] != "8080" {
		t.Error("a number in env is no text")
	}
	r := stats.Registration()
	if r.Version != "0.0.0" || r.Slots("text_stats") != 1 || r.Slots("echo") != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	const agent = "agents:\n- agent_id: a\n  capabilities: [echo]\n  transport: {type: subprocess, command: [cat]}\n"
	for _, tt := range []struct{ name, file, want string }{
		{"a mistyped key", "agents:\n- agent_idd: a\n", `worker.yaml:2: "agent_idd" is no key of agents; did you mean "agent_id"?`},
		{"a key like no other", agent + "colour: red\n", `worker.yaml:5: "colour" is no key of the file; it has agents, broker`},
		{
			"a mistyped key deep down", "agents:\n- agent_id: a\n  capabilities:\n  - id: echo\n    max_concurency: 1\n",
			`worker.yaml:5: "max_concurency" is no key of capabilities; did you mean "max_concurrency"?`,
		},
		{"a key twice", agent + "  version: 1.0.0\n  version: 1.0.1\n", `worker.yaml:6: "version" is there twice`},
		{"an agent twice", agent + strings.TrimPrefix(agent, "agents:\n"), "worker.yaml:5: agent_id is there twice"},
		{"no agents", "broker: {}\n", "worker.yaml:1: agents needs an agent"},
		{"an empty file", "", "worker.yaml: the file is empty"},
		{"two documents", agent + "---\n" + agent, "worker.yaml: more than one YAML document"},
		{"a word for a number", agent + "  max_concurrency: many\n", "worker.yaml:5: max_concurrency: this field takes an integer"},
		{"infinity", agent + "  metadata: {a: .inf}\n", "worker.yaml:5: a number that JSON does not have"},
		{
			"another transport", "agents:\n- agent_id: a\n  capabilities: [echo]\n  transport:\n    type: carrier_pigeon\n",
			`worker.yaml:5: type does not support "carrier_pigeon"; it takes http, sse, websocket, grpc, subprocess, mcp or openai`,
		},
		{
			"a URL for a program", "agents:\n- agent_id: a\n  capabilities: [echo]\n  transport: {type: subprocess, endpoint: http://a}\n",
			"worker.yaml:4: endpoint belongs to the transport http",
		},
		{
			"no URL", "agents:\n- agent_id: a\n  capabilities: [echo]\n  transport: {type: http}\n",
			"worker.yaml:4: endpoint is needed: the URL to post to",
		},
		{"an id that is a pattern", strings.Replace(agent, "agent_id: a", "agent_id: '>'", 1), "worker.yaml:2: agent_id takes lower-case letters"},
		{"a version that is none", agent + "  version: newest\n", "worker.yaml:5: version takes"},
		{"no capability", strings.Replace(agent, "[echo]", "[]", 1), "worker.yaml:3: capabilities takes"},
		{"a file that contains itself", agent + "  metadata: &m {a: *m}\n", "is too large or too deep"},
		{"a small file that expands without end", agent + bomb(), "is too large or too deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := read(t, tt.file)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// bomb is metadata of a few lines, each of which holds the one before it ten times.
func bomb() string {
	var b strings.Builder
	b.WriteString("  metadata:\n    a0: &a0 [x]\n")
	for i := range 20 {
		refs := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", ")
		fmt.Fprintf(&b, "    a%d: &a%d [%s]\n", i+1, i+1, refs)
	}
	return b.String()
}

func TestSeveralProblemsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := read(t, "agents:\n- agent_id: a\n  capabilites: [echo]\n  transpot: {}\n")
	if err == nil || strings.Count(err.Error(), "did you mean") != 2 {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("agents: [&a {agent_id: *a}]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "worker.yaml")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := workerfile.Read(path)
		if err != nil {
			return
		}
		if problems := file.Problems(); len(problems) > 0 {
			t.Error(problems)
		}
	})
}

// read names the file worker.yaml, whatever the directory, so that errors can be compared.
func read(t *testing.T, content string) (*workerfile.File, string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "worker.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := workerfile.Read(path)
	return file, dir, err
}
