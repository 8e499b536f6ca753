package workerfile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Transport is how the worker reaches the agent. Which fields count depends on the type: keysOf has the table.
type Transport struct {
	Type string `json:"type"`

	Endpoint    string            `json:"endpoint,omitzero"` // a URL, or host:port for grpc
	HealthCheck string            `json:"health_check,omitzero"`
	Input       string            `json:"input,omitzero"`
	Headers     map[string]string `json:"headers,omitempty"`

	Command []string          `json:"command,omitempty"`
	Mode    string            `json:"mode,omitzero"`
	Dir     string            `json:"dir,omitzero"`
	Env     map[string]string `json:"env,omitempty"`

	FirstByteTimeoutMS int64 `json:"first_byte_timeout_ms,omitzero"`
	IdleTimeoutMS      int64 `json:"idle_timeout_ms,omitzero"`

	Format string            `json:"format,omitzero"` // of the answer: sse, ndjson, text, json
	Events map[string]string `json:"events,omitempty"`

	Model      string            `json:"model,omitzero"`
	System     string            `json:"system,omitzero"`
	Prompt     string            `json:"prompt,omitzero"`
	Result     rawAny            `json:"result,omitzero"`
	JSON       bool              `json:"json,omitzero"`
	Options    map[string]rawAny `json:"options,omitempty"`
	APIKeyFile string            `json:"api_key_file,omitzero"`
	APIKeyEnv  string            `json:"api_key_env,omitzero"`
	NoStream   bool              `json:"no_stream,omitzero"`
	Truncated  bool              `json:"truncated,omitzero"`

	Subprotocols []string `json:"subprotocols,omitempty"`
	Resume       bool     `json:"resume,omitzero"`

	Tools           map[string]string `json:"tools,omitempty"`
	TextField       string            `json:"text_field,omitzero"`
	ProtocolVersion string            `json:"protocol_version,omitzero"`

	Method         string            `json:"method,omitzero"`
	Methods        map[string]string `json:"methods,omitempty"`
	DescriptorSet  string            `json:"descriptor_set,omitzero"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	HealthService  string            `json:"health_service,omitzero"`
	Last           bool              `json:"last,omitzero"`
	DiscardUnknown bool              `json:"discard_unknown,omitzero"`
	Int64Numbers   bool              `json:"int64_numbers,omitzero"`
}

// The transports, and the modes of a subprocess.
const (
	HTTP       = "http"
	SSE        = "sse"
	WebSocket  = "websocket"
	GRPC       = "grpc"
	Subprocess = "subprocess"
	MCP        = "mcp"
	OpenAI     = "openai"

	PerTask   = "per_task"
	KeepAlive = "keep_alive"
)

// What input and mode take; an absent one is left to the adapter.
var (
	inputs = []string{"", "payload", "message", "execute"}
	modes  = []string{"", PerTask, KeepAlive}
)

// types are the transports in the order in which they are told.
var types = []string{HTTP, SSE, WebSocket, GRPC, Subprocess, MCP, OpenAI}

// Types are the transports that an agent can have.
func Types() []string { return slices.Clone(types) }

// keysOf are the keys of each type.
var keysOf = map[string][]string{
	HTTP: {"endpoint", "health_check", "input", "headers"},
	SSE: {
		"endpoint", "health_check", "input", "headers", "format", "events", "first_byte_timeout_ms", "idle_timeout_ms",
	},
	WebSocket: {"endpoint", "headers", "subprotocols", "resume"},
	GRPC: {
		"endpoint", "method", "methods", "descriptor_set", "metadata", "health_service", "last", "discard_unknown", "int64_numbers",
	},
	Subprocess: {"command", "mode", "dir", "env"},
	MCP:        {"endpoint", "headers", "command", "dir", "env", "tools", "text_field", "protocol_version"},
	OpenAI: {
		"endpoint", "health_check", "headers", "model", "system", "prompt", "result", "json", "options", "api_key_file", "api_key_env",
		"no_stream", "truncated", "first_byte_timeout_ms", "idle_timeout_ms",
	},
}

// needed says of keys that a type cannot do without what they are.
var needed = map[string]map[string]string{
	HTTP:       {"endpoint": "the URL to post to"},
	SSE:        {"endpoint": "the URL to post to"},
	WebSocket:  {"endpoint": "the ws or wss URL of the agent"},
	GRPC:       {"endpoint": "host:port of the server"},
	Subprocess: {"command": "the program and its arguments, as a list"},
	OpenAI:     {"endpoint": "the URL of the API, such as http://127.0.0.1:11434/v1", "model": "the name of the model"},
}

func (t *Transport) problems(where string) []*schemas.Error {
	if !slices.Contains(types, t.Type) {
		return []*schemas.Error{wrong(where+"/type", fmt.Sprintf("does not support %q; it takes %s", t.Type, either(types)))}
	}
	problems := slices.Concat(
		unless(slices.Contains(inputs, t.Input), where+"/input", "takes payload, message or execute"),
		unless(slices.Contains(modes, t.Mode), where+"/mode", "takes per_task or keep_alive"),
	)
	for key, set := range t.keys() {
		what := needed[t.Type][key]
		switch {
		case set && !slices.Contains(keysOf[t.Type], key):
			problems = append(problems, wrong(where+"/"+key, "belongs to the transport "+either(typesWith(key))))
		case !set && what != "":
			problems = append(problems, wrong(where+"/"+key, "is needed: "+what))
		}
	}
	if t.Type == MCP && (t.Endpoint == "") == (len(t.Command) == 0) {
		problems = append(problems, wrong(where+"/command", "or endpoint is needed, and not both: the server's program, or its URL"))
	}
	slices.SortFunc(problems, func(a, b *schemas.Error) int { return strings.Compare(a.Message, b.Message) })
	return problems
}

// keys are all keys but the type, and whether each is set.
func (t *Transport) keys() map[string]bool {
	keys := make(map[string]bool)
	value := reflect.ValueOf(t).Elem()
	for i := range value.NumField() {
		if name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ","); name != "type" {
			keys[name] = !value.Field(i).IsZero()
		}
	}
	return keys
}

// typesWith are the types that know a key.
func typesWith(key string) []string {
	var with []string
	for _, name := range types {
		if slices.Contains(keysOf[name], key) {
			with = append(with, name)
		}
	}
	return with
}

func either(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// OffersTools reports whether the agent's capabilities are left to an MCP server to name.
func (a *Agent) OffersTools() bool { return a.Transport.Type == MCP && len(a.Capabilities) == 0 }
