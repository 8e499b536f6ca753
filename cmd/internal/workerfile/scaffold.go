package workerfile

import (
	_ "embed"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/agentreach/agent-reach/schemas"
)

//go:embed scaffold.yaml
var scaffoldText string

var scaffold = template.Must(template.New("worker.yaml").Parse(scaffoldText))

// Scaffold is a worker.yaml for one agent, with comments on what else can be said. It can be read as it is, and also with its
// commented keys as keys.
func Scaffold(agent *Agent, broker string) []byte {
	var text strings.Builder
	err := scaffold.Execute(&text, struct {
		Broker, AgentID string
		Version         string
		MaxConcurrency  int
		Transport       []string
		Capabilities    []string
	}{
		quoted(broker), quoted(agent.AgentID), "0.1.0", max(1, agent.MaxConcurrency), transportLines(&agent.Transport),
		capabilityLines(agent.Capabilities),
	})
	if err != nil {
		panic(fmt.Sprintf("scaffold of a worker.yaml: %v", err)) // the template is ours
	}
	return []byte(text.String())
}

// hints are keys that an agent of a type may want, as comments.
var hints = map[string][]string{
	HTTP: {
		"health_check: http://127.0.0.1:9000/healthz # answers 2xx to GET; run before each heartbeat",
		"input: payload # payload | message | execute: what the agent gets",
		"headers: {X-Team: notes}",
	},
	SSE: {
		"health_check: http://127.0.0.1:9000/healthz # answers 2xx to GET; run before each heartbeat",
		"format: ndjson # sse | ndjson | text | json; default: by the Content-Type",
		"first_byte_timeout_ms: 300000 # until the first byte of the answer",
		"idle_timeout_ms: 120000 # silence in the middle of it",
	},
	WebSocket: {
		"headers: {X-Team: notes}",
		"resume: true # the agent remembers its tasks after a lost connection",
	},
	GRPC: {
		"descriptor_set: agent.binpb # for a server without reflection: protoc --include_imports --descriptor_set_out=agent.binpb",
		"metadata: {x-team: notes}",
		"last: true # the last message of a stream is the result, instead of all of them",
	},
	Subprocess: {
		"mode: keep_alive # one process for many tasks, each a JSON line with its task_id; default: one process for each task",
		"dir: . # where it runs, relative to this file",
		"env: {LANG: C.UTF-8} # additional environment; it gets none of the worker's secrets",
	},
	MCP: {
		"tools: {brave_web_search: web_search} # tool: capability; default: the capability with the tool's name",
		"text_field: text # a text that is not JSON becomes {\"text\": …}; default: by the capability's output schema",
		"env: {LANG: C.UTF-8} # additional environment of its program",
	},
	OpenAI: {
		"api_key_env: OPENAI_API_KEY # or api_key_file: key.txt",
		"system: You write summaries.",
		"prompt: 'Summarize: {{.text}}' # a template over the payload",
		"result: {summary: '{{.Text}}'} # default: the text is the result",
		"options: {temperature: 0.2}",
	},
}

// transportLines are the keys that are set, in the order of the struct, and hints for others.
func transportLines(t *Transport) []string {
	var lines []string
	value := reflect.ValueOf(t).Elem()
	set := t.keys()
	for i := range value.NumField() {
		key, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		if key == "type" || set[key] {
			lines = append(lines, key+": "+string(schemas.MustEncode(value.Field(i).Interface())))
		}
	}
	for _, hint := range hints[t.Type] {
		if key, _, _ := strings.Cut(hint, ":"); !set[key] && (key != "env" || t.Endpoint == "") {
			lines = append(lines, "# "+hint)
		}
	}
	return lines
}

// capabilityLines are the ids of offers. Without any, the server of the agent names them.
func capabilityLines(offers []schemas.Offer) []string {
	var ids []string
	for i := range offers {
		ids = append(ids, quoted(offers[i].ID))
	}
	return ids
}

// quoted is text as YAML takes it wherever a value stands: bare where that is safe.
func quoted(text string) string {
	if bare.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return string(schemas.MustEncode(text))
}

// bare is a text that YAML takes for one without quotes.
var bare = regexp.MustCompile(`^[A-Za-z][\w./@:-]*[\w/]$`)

// words are what YAML takes for something other than a text.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
