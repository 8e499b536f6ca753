package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/dispatcher/score"
)

func TestPrecedence(t *testing.T) {
	t.Parallel()
	const (
		file = "server:\n  port: 1111\n"
		env  = "REACH_SERVER_PORT=2222"
	)
	flag := []config.Setting{{Key: "server.port", Source: "--http", Values: []string{"3333"}}}
	for _, tt := range []struct {
		name   string
		file   string
		env    []string
		flags  []config.Setting
		want   int
		source string
	}{
		{"nobody says anything", "", nil, nil, 8500, "default"},
		{"the file beats the default", file, nil, nil, 1111, "reach.yaml:2"},
		{"the environment beats the file", file, []string{env}, nil, 2222, "REACH_SERVER_PORT"},
		{"a flag beats the environment", file, []string{env}, flag, 3333, "--http"},
		{"an empty variable says nothing", file, []string{"REACH_SERVER_PORT="}, nil, 1111, "reach.yaml:2"},
		{"an empty key says nothing", "server:\n  port:\n", nil, nil, 8500, "default"},
		{"an empty section says nothing", "server:\n", nil, nil, 8500, "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := load(t, tt.file, tt.env, tt.flags...)
			if err != nil {
				t.Fatal(err)
			}
			if got.Server.Port != tt.want || source(got, "server.port") != tt.source {
				t.Errorf("got %d from %s, want %d from %s", got.Server.Port, source(got, "server.port"), tt.want, tt.source)
			}
			if given := tt.source != "default"; got.Given("server.port") != given {
				t.Errorf("Given = %v, want %v", !given, given)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		env  []string
		show func(*config.Settings) any
		want any
	}{
		{
			"underscores within a key are no dots",
			[]string{"REACH_REGISTRY_HEARTBEAT_INTERVAL=2s"},
			func(s *config.Settings) any { return s.Registry.HeartbeatInterval }, 2 * time.Second,
		},
		{
			"the name of a section does not wipe it out",
			[]string{"REACH_SERVER=x"},
			func(s *config.Settings) any { return s.Server.Port }, 8500,
		},
		{
			"names that are no keys are left alone",
			[]string{"REACH_URL=nats://elsewhere:4222", "REACH_COLOUR=blue"},
			func(s *config.Settings) any { return s.Broker.URL }, "",
		},
		{
			"a list has commas",
			[]string{"REACH_DICTIONARY_FILES=a.yaml,b.yaml"},
			func(s *config.Settings) any { return s.Dictionary.Files },
			[]string{"a.yaml", "b.yaml"},
		},
		{
			"a deep key",
			[]string{"REACH_BROKER_CLUSTER_LISTEN=127.0.0.1:6222", "REACH_BROKER_CLUSTER_NAME=c"},
			func(s *config.Settings) any { return s.Broker.Cluster.Listen }, "127.0.0.1:6222",
		},
		{
			"the other name of a weight",
			[]string{"REACH_ROUTER_SCORE_WEIGHTS_VERSION_PENALTY=0.5"},
			func(s *config.Settings) any { return s.Router.ScoreWeights[score.Version] }, 0.5,
		},
		{
			"REACH_DEBUG is the debug level",
			[]string{"REACH_DEBUG=1", "REACH_LOG_LEVEL=warn"},
			func(s *config.Settings) any { return s.Log.Level }, "debug",
		},
		{
			"REACH_DEBUG=false is not",
			[]string{"REACH_DEBUG=false"},
			func(s *config.Settings) any { return s.Log.Level }, "info",
		},
		{
			"storage is another name for the broker's URL",
			[]string{"REACH_REGISTRY_STORAGE=nats://b:4222"},
			func(s *config.Settings) any { return s.Broker.URL }, "nats://b:4222",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := load(t, "", tt.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, tt.show(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file string
		env        []string
		want       []string
	}{
		{
			"a mistyped key", "registry:\n  heartbeat_intervall: 5s\n", nil,
			[]string{`reach.yaml:2: "registry.heartbeat_intervall" is not a setting; did you mean "registry.heartbeat_interval"?`},
		},
		{
			"addresses that are none", "callbacks:\n  allow: [10.0.0.0/8, example.org]\n  backoff: 1h\n  backoff_cap: 1m\n", nil,
			[]string{`reach.yaml:2: callbacks.allow does not fit: "example.org" is neither`, "reach.yaml:4: callbacks.backoff_cap must not be below"},
		},
		{
			"a mistyped section", "servr: {port: 1}\n", nil,
			[]string{`reach.yaml:1: "servr" is not a setting; did you mean "server"?`},
		},
		{
			"a key like no other", "colour: blue\n", nil,
			[]string{"reach.yaml:1: \"colour\" is not a setting; `reach config print` lists all"},
		},
		{"a key twice", "log:\n  level: info\n  level: warn\n", nil, []string{"reach.yaml:3: log.level is there twice"}},
		{
			"a weight by both its names", "router:\n  score_weights: {version: 1, version_penalty: 1}\n", nil,
			[]string{"reach.yaml:2: router.score_weights.version is there twice"},
		},
		{"a word for a number", "server:\n  port: many\n", nil, []string{"reach.yaml:2: server.port takes a whole number"}},
		{
			"a number without a unit", "",
			[]string{"REACH_REGISTRY_HEARTBEAT_TTL=45"},
			[]string{"REACH_REGISTRY_HEARTBEAT_TTL: registry.heartbeat_ttl takes a duration such as 15s or 250ms"},
		},
		{"a list for one text", "log:\n  level: [info]\n", nil, []string{"reach.yaml:2: log.level takes one text"}},
		{"a section for one text", "log:\n  level: {a: b}\n", nil, []string{"reach.yaml:2: log.level takes one text"}},
		{"one text for a section", "server: 8500\n", nil, []string{"reach.yaml:1: server is not a list of keys"}},
		{"no mapping at all", "- a\n", nil, []string{"reach.yaml:1: the file is not a list of keys"}},
		{"two documents", "log: {level: info}\n---\nlog: {level: info}\n", nil, []string{"reach.yaml: more than one YAML document"}},
		{"no YAML", "server: [\n", nil, []string{"reach.yaml: yaml: line"}},
		{"a port out of range", "server: {port: 70000}\n", nil, []string{"reach.yaml:1: server.port is not a port: 0 to 65535"}},
		{
			"another store for the registry", "registry: {storage: redis://localhost:6379}\n", nil,
			[]string{"reach.yaml:1: registry.storage takes a nats:// URL only", "leave it out for the embedded broker"},
		},
		{
			"two brokers", "registry: {storage: 'nats://a:1'}\nbroker: {url: 'nats://b:1'}\n", nil,
			[]string{"reach.yaml:1: registry.storage names another broker than broker.url"},
		},
		{
			"a strategy that does not exist", "router: {default_strategy: cheapest}\n", nil,
			[]string{`reach.yaml:1: router.default_strategy does not support "cheapest"; it takes score, least_concurrency`},
		},
		{
			"a weight below 0", "router: {score_weights: {cost: -1}}\n", nil,
			[]string{"reach.yaml:1: router.score_weights.cost is a weight: a number from 0 up"},
		},
		{
			"priority above all else", "router:\n  score_weights: {priority: 10}\n", nil,
			[]string{"reach.yaml:2: router.score_weights do not add up: priority has 0.91 of all weight"},
		},
		{"a weight that is no number", "router: {score_weights: {cost: .nan}}\n", nil, []string{"router.score_weights.cost"}},
		{
			"an interval longer than what follows from it", "registry: {heartbeat_interval: 1m}\n", nil,
			[]string{"registry.heartbeat_ttl must be longer than registry.heartbeat_interval"},
		},
		{"heartbeats without a pause", "registry: {heartbeat_interval: 1ns}\n", nil, []string{"registry.heartbeat_interval must be 10ms or more"}},
		{"syncs without a pause", "broker: {sync_interval: 1ns}\n", nil, []string{"broker.sync_interval takes 0, which syncs every write, or 1ms and more"}},
		{"another kind of file", strings.Repeat("a: 1\n", 1_000), nil, []string{`reach.yaml:1: "a" is not a setting`, "reach.yaml:20: a is there twice"}},
		{"routes without a cluster", "broker: {cluster: {routes: ['nats://b:6222']}}\n", nil, []string{"needs broker.cluster.listen"}},
		{"a level", "", []string{"REACH_LOG_LEVEL=loud"}, []string{`REACH_LOG_LEVEL: log.level does not support "loud"`}},
		{
			"problems of every kind at once",
			"server: {prt: 1}\nlog: {levl: info}\nregistry: {heartbeat_ttl: 45}\nledger: {retention: 1ms}\n",
			[]string{"REACH_LIMITS_SCHEDULES=many", "REACH_BROKER_REPLICAS=2"},
			[]string{
				`reach.yaml:1: "server.prt"`, `reach.yaml:2: "log.levl"`, "reach.yaml:3: registry.heartbeat_ttl takes a duration",
				"reach.yaml:4: ledger.retention takes 1s", "REACH_LIMITS_SCHEDULES: limits.schedules takes a whole number",
				"REACH_BROKER_REPLICAS: broker.replicas takes 1, 3 or 5",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.file, tt.env)
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
		})
	}
}

func TestErrorsDoNotQuoteSecrets(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"broker: {password: marker}\n",
		"broker: {url: 'http://u:marker@b'}\n",
		"broker: {url: 'nats://u:mar%ker@b:4222'}\n",
		"registry: {storage: 'redis://u:marker@b'}\n",
		"broker: {replicas: marker}\n",
	} {
		_, err := load(t, file, nil)
		if err == nil {
			t.Fatalf("%q was taken", file)
		}
		if strings.Contains(err.Error(), "mar") {
			t.Errorf("%q: the error quotes it: %v", file, err)
		}
	}
}

func TestPathsInAFileAreRelativeToIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "reach.yaml")
	write(t, path, "broker: {data: ./d, creds_file: /etc/c}\ndictionary: {files: [a.yaml, /b.yaml]}\n")
	got, err := config.Load(config.Sources{File: path, Environ: []string{"REACH_BROKER_TOKEN_FILE=token"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "d"), "/etc/c", "token", filepath.Join(dir, "a.yaml"), "/b.yaml"}
	have := append([]string{got.Broker.Data, got.Broker.CredsFile, got.Broker.TokenFile}, got.Dictionary.Files...)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

func TestSecretComesWithoutItsLineEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	write(t, path, "s3cret \r\n")
	for path, want := range map[string]string{path: "s3cret ", "": ""} {
		if got, err := config.Secret(path); err != nil || got != want {
			t.Errorf("Secret = %q, %v, want %q", got, err, want)
		}
	}
}

// load names the file reach.yaml, whatever the directory, so that errors can be compared.
func load(t *testing.T, file string, env []string, flags ...config.Setting) (*config.Settings, error) {
	t.Helper()
	from := config.Sources{Environ: env, Flags: flags}
	if file != "" {
		from.File = filepath.Join(t.TempDir(), "reach.yaml")
		write(t, from.File, file)
	}
	return config.Load(from)
}

func source(s *config.Settings, key string) string {
	for _, item := range s.Items() {
		if item.Key == key {
			return filepath.Base(item.Source)
		}
	}
	return ""
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
