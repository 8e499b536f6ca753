package integration

import (
	"os"
	"testing"
)

// The floors of the house, from the ground up:
//
//	cmd, integration, scripts   know everyone
//	dispatcher | worker         side by side
//	broker                      the only code that knows NATS
//	schemas                     the words that every process shares
//
// The tables below say the same so that a test can hold it. "a/b" is one package, "a/*" are the packages directly below a,
// "a/..." is a with all below it, "..." is everything. Where several rows fit a package, the last one counts.

// floors says what a package may import of the house.
var floors = []floor{
	{"schemas/...", names{"schemas", "schemas/nearest"}},
	{"schemas", nothing},
	{"schemas/nearest", nothing},
	{"schemas/dictionary", names{"schemas", "schemas/align", "schemas/contract", "schemas/nearest"}},

	{"broker/...", names{"schemas"}},
	{"broker", names{"schemas", "broker/window"}},
	{"broker/brokertest", names{"schemas", "broker", "broker/embedded", "broker/internal/freeport"}},

	{"dispatcher/...", names{"schemas"}},
	{"dispatcher", names{"schemas/...", "broker", "dispatcher/*"}},
	{"dispatcher/timetable", names{"schemas", "broker"}},
	{"dispatcher/route", names{"schemas", "schemas/dictionary", "dispatcher/score"}},
	{"dispatcher/desk", names{"schemas/...", "broker", "dispatcher/front"}},
	{"dispatcher/client", names{"schemas/...", "broker"}},
	{"dispatcher/front/...", names{"schemas/...", "dispatcher/front"}},
	{"dispatcher/front/mqttfront", names{"schemas/...", "dispatcher/front", "broker"}},
	{"dispatcher/front/natsfront", names{"schemas/...", "dispatcher/front", "broker"}},

	{"worker/...", names{"schemas"}},
	{"worker", names{"schemas/...", "broker", "worker/*"}},
	{"worker/adopt", names{"schemas", "broker", "worker"}},
	{"worker/adapter/...", names{"schemas/...", "worker", "worker/adapter/answer", "worker/adapter/internal/*"}},
	{"worker/adapter/grpc", names{
		"schemas/...", "worker", "worker/adapter/answer", "worker/adapter/internal/*", "worker/adapter/grpc/reachpb",
	}},

	{"cmd/...", everything},
	{"integration/...", everything},
	{"scripts/...", everything},
}

// testFloors says what a test may import on top of that: its own floor and those below, so that it can bring up its neighbours.
var testFloors = []floor{
	{"schemas/...", names{"schemas/..."}},
	{"broker/...", names{"schemas/...", "broker/..."}},
	{"dispatcher/...", names{"schemas/...", "broker/...", "dispatcher/..."}},
	{"worker/...", names{"schemas/...", "broker/...", "worker/..."}},
}

// owners says which packages may import a foreign library: one owner for each thing, all others ask the owner. The longest prefix
// counts; a library without a row belongs to nobody.
var owners = []owner{
	{"github.com/nats-io", names{"broker/...", "integration", "cmd/internal/bench/floor"}},
	{"github.com/nats-io/nats-server", names{"broker/embedded", "broker/brokertest"}},
	{"github.com/synadia-io/orbit.go", names{"broker"}},
	{"github.com/gofrs/flock", names{"broker/embedded", "worker"}},
	{"golang.org/x/sys", names{"broker/embedded", "worker/adapter/internal/process"}},

	{"github.com/go-json-experiment/json", names{"schemas"}},
	{"github.com/go-json-experiment/json/jsontext", everything},
	{"github.com/santhosh-tekuri/jsonschema", names{"schemas/contract"}},
	{"github.com/Masterminds/semver", names{"schemas", "dispatcher/..."}},
	{"github.com/google/uuid", names{"schemas", "worker"}},
	{"golang.org/x/text", names{"schemas/..."}},

	{"github.com/danielgtaylor/huma", names{"dispatcher/front/httpfront"}},
	{"github.com/go-chi/chi", names{"dispatcher/front/httpfront"}},
	{"github.com/prometheus", names{"dispatcher/metrics"}},

	{"github.com/spf13", names{"cmd/..."}},
	{"github.com/google/shlex", names{"cmd/...", "worker/adapter/..."}},
	{"github.com/mattn/go-isatty", names{"cmd/reach"}},
	{"github.com/coder/websocket", names{"worker/adapter/websocket"}},
	{"github.com/modelcontextprotocol/go-sdk", names{"worker/adapter/mcp"}},
	{"google.golang.org/grpc", names{"worker/adapter/grpc/..."}},
	{"google.golang.org/protobuf", names{"worker/adapter/grpc/..."}},
	{"google.golang.org/genproto/googleapis/rpc", names{"worker/adapter/grpc"}},
	{"github.com/jhump/protoreflect", names{"worker/adapter/grpc"}},
	{"golang.org/x/crypto/x509roots", names{"cmd/reach"}},
	{"github.com/knadh/koanf", names{"cmd/internal/config"}},
	{"go.yaml.in/yaml", names{"cmd/internal/*", "schemas/dictionary", "dispatcher/route"}},

	{"github.com/compose-spec/compose-go", names{"scripts/cluster", "integration/..."}},

	{"github.com/rs/zerolog", everything},
	{"golang.org/x/sync", everything},
	{"golang.org/x/time", everything},

	{"github.com/robfig/cron", names{"dispatcher/schedule"}},

	{"github.com/eclipse/paho.mqtt.golang", onlyTests},
	{"github.com/google/go-cmp", onlyTests},
	{"github.com/standard-webhooks", onlyTests},
	{"github.com/rogpeppe/go-internal", onlyTests},
	{"go.uber.org/goleak", onlyTests},
	{"pgregory.net/rapid", onlyTests},
}

// The packages that decide in values: what they need to know of the world, the time too, they are given.
var pure = names{
	"broker/window", "dispatcher/breaker", "dispatcher/callback", "dispatcher/failover", "dispatcher/health", "dispatcher/index", "dispatcher/route",
	"dispatcher/schedule", "dispatcher/score", "dispatcher/slots", "dispatcher/stats", "dispatcher/tenant", "schemas/align",
}

// libraries are the packages that others build on; what reaches a terminal is the command's business.
var libraries = names{"schemas/...", "broker/...", "dispatcher/...", "worker/..."}

// bans are the functions that code outside tests does not use, and what to do instead.
var bans = []ban{
	{names{"time.Sleep"}, everything, "wait for a signal, or for a context or timer that can end early"},
	{names{"time.Now", "time.Since", "time.Until"}, pure, "take now as an argument"},
	{names{"fmt.Print", "fmt.Printf", "fmt.Println"}, libraries, "return it, or log it"},
}

// methodBans are the ways by which a logger prints a value from within, payloads and secrets too. args tells the logger's method
// from others of that name.
var methodBans = []methodBan{
	{"Any", 2, everything, "log single fields; a Payload goes into Object, which shows its size alone"},
	{"Interface", 1, everything, "log single fields; a Payload goes into Object, which shows its size alone"},
	{"RawJSON", 2, everything, "log single fields; a Payload goes into Object, which shows its size alone"},
	{"Fields", 1, everything, "log single fields by their own methods"},
}

// importBans are parts of the standard library that a package does without.
var importBans = []importBan{
	{names{"os", "net", "net/http"}, pure, "leave files and networks to the caller, and take values"},
}

// folders are the only ones at the root that may hold code; dot folders beside .ci are left to the tools that made them.
var folders = names{"broker", "dispatcher", "worker", "schemas", "cmd", "scripts", "integration", "docs"}

// builtFolders are what .gitignore keeps out.
var builtFolders = names{"bin", "reach-data"}

const root = ".."

func TestFloors(t *testing.T) {
	t.Parallel()
	sources, err := readSources(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations(sources) {
		t.Error(violation)
	}
}

func TestFloorsFolders(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range folderViolations(entries) {
		t.Error(violation)
	}
}
