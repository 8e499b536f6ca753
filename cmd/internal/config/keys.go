package config

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/dispatcher/score"
)

// keys registers every setting: its name, where it goes, its default and what it is for.
func keys(c *Config) *pflag.FlagSet {
	fs := pflag.NewFlagSet("configuration", pflag.ContinueOnError)
	fs.SortFlags = false
	serverKeys(fs, &c.Server)
	brokerKeys(fs, &c.Broker)
	registryKeys(fs, &c.Registry)
	fs.StringSliceVar(&c.Dictionary.Files, "dictionary.files", nil, "YAML or JSON files that add capabilities")
	routerKeys(fs, &c.Router)
	adaptorKeys(fs, &c.Adaptor)
	ledgerKeys(fs, &c.Ledger)
	limitKeys(fs, &c.Limits)
	callbackKeys(fs, &c.Callbacks)
	fs.StringVar(&c.Log.Level, "log.level", "info", "debug, info, warn or error")
	fs.StringVar(&c.Log.Format, "log.format", "auto", "console, json, or auto: console on a terminal")
	return fs
}

func serverKeys(fs *pflag.FlagSet, s *Server) {
	fs.StringVar(&s.Host, "server.host", "127.0.0.1", "address of the HTTP front")
	fs.IntVar(&s.Port, "server.port", 8500, "port of the HTTP front; 0 takes a free one")
	fs.BoolVar(&s.InsecureListen, "server.insecure_listen", false, "let listeners without keys leave the loopback interface")
}

func brokerKeys(fs *pflag.FlagSet, b *Broker) {
	fs.StringVar(&b.URL, "broker.url", "", "a broker that runs elsewhere; empty: the embedded one")
	fs.StringVar(&b.CredsFile, "broker.creds_file", "", "NATS credentials for that broker")
	fs.StringVar(&b.User, "broker.user", "", "user name for that broker")
	fs.StringVar(&b.PasswordFile, "broker.password_file", "", "file with that user's password")
	fs.StringVar(&b.TokenFile, "broker.token_file", "", "file with a token for that broker")
	fs.IntVar(&b.Replicas, "broker.replicas", 1, "copies that a cluster keeps of the ledger")
	fs.StringVar(&b.Name, "broker.name", "", "name of the embedded broker, its own in a cluster; empty: host name and cluster port")
	fs.StringVar(&b.Data, "broker.data", "./reach-data", "folder of the embedded broker")
	fs.StringVar(&b.Listen, "broker.listen", "127.0.0.1:4222", "where the embedded broker listens; port 0 takes a free one")
	fs.StringVar(&b.MQTT, "broker.mqtt", "", "where the embedded broker listens for MQTT; empty: nowhere")
	fs.DurationVar(&b.SyncInterval, "broker.sync_interval", 100*time.Millisecond, "how often it syncs its files; 0: at every write")
	fs.StringVar(&b.Cluster.Name, "broker.cluster.name", "", "name of the cluster that it is a node of")
	fs.StringVar(&b.Cluster.Listen, "broker.cluster.listen", "", "where it listens for the other nodes")
	fs.StringSliceVar(&b.Cluster.Routes, "broker.cluster.routes", nil, "URLs of other nodes")
	fs.StringVar(&b.Cluster.User, "broker.cluster.user", "", "user name that all nodes share")
	fs.StringVar(&b.Cluster.PasswordFile, "broker.cluster.password_file", "", "file with the password that all nodes share")
}

func registryKeys(fs *pflag.FlagSet, r *Registry) {
	fs.DurationVar(&r.HeartbeatInterval, "registry.heartbeat_interval", 15*time.Second, "how often a worker says that it lives")
	fs.DurationVar(&r.HeartbeatTTL, "registry.heartbeat_ttl", 45*time.Second, "silence after which an agent is offline")
	fs.DurationVar(&r.ReceiptInterval, "registry.receipt_interval", 15*time.Second, "how often a worker names what it runs")
	fs.DurationVar(&r.ProbeInterval, "registry.probe_interval", 30*time.Second, "how often an agent drawn at random is probed")
	fs.DurationVar(&r.ProbeRetry, "registry.probe_retry", 5*time.Second, "after how long a probe that failed is repeated")
	fs.StringVar(&r.Storage, "registry.storage", "", "another name for broker.url")
}

func routerKeys(fs *pflag.FlagSet, r *Router) {
	fs.StringVar(&r.Routes, "router.routes", "", "file of routes")
	fs.StringVar(&r.DefaultStrategy, "router.default_strategy", string(score.ByScore), strings.Join(strategies(), ", "))
	for i, weight := range score.Usual {
		factor := score.Factor(i).String()
		fs.Float64Var(&r.ScoreWeights[i], weightPrefix+factor, weight, "weight of "+factor+" in the score")
	}
	e := &r.Embeddings
	fs.StringVar(&e.URL, "router.embeddings.url", "", "embeddings API that finds what intents mean; empty: none")
	fs.StringVar(&e.Model, "router.embeddings.model", "", "its model")
	fs.StringVar(&e.KeyFile, "router.embeddings.key_file", "", "file with its key")
	fs.DurationVar(&e.Timeout, "router.embeddings.timeout", time.Second, "how long it may take")
	fs.Float64Var(&e.MinSimilarity, "router.embeddings.min_similarity", .6, "from which on an intent is taken to mean something, 0 to 1")
}

// weightPrefix is what the keys of all weights begin with.
const weightPrefix = "router.score_weights."

// strategies that router.default_strategy takes.
func strategies() []string {
	var names []string
	for _, strategy := range score.Strategies {
		names = append(names, string(strategy))
	}
	return names
}

func adaptorKeys(fs *pflag.FlagSet, a *Adaptor) {
	fs.IntVar(&a.HTTPConnectTimeoutMS, "adaptor.http_connect_timeout_ms", 3000, "time to connect to an HTTP agent")
	fs.IntVar(&a.HTTPReadTimeoutMS, "adaptor.http_read_timeout_ms", 30000, "time without a byte from an HTTP agent")
	fs.DurationVar(&a.WSPingInterval, "adaptor.ws_ping_interval", 15*time.Second, "how often a WebSocket agent is pinged")
}

func ledgerKeys(fs *pflag.FlagSet, l *Ledger) {
	fs.DurationVar(&l.Retention, "ledger.retention", 24*time.Hour, "how long an ended task is kept")
	fs.DurationVar(&l.DeadLetters, "ledger.dead_letters", 7*24*time.Hour, "how long a dead letter is kept")
	fs.Int64Var(&l.MaxMessages, "ledger.max_messages", 5_000_000, "messages in the ledger; new tasks are refused above 80 %")
	fs.Int64Var(&l.MaxBytes, "ledger.max_bytes", 0, "bytes of the ledger; 0: no bound of its own")
	fs.Int64Var(&l.MaxBodyBytes, "ledger.max_body_bytes", 8<<30, "bytes of all large bodies; large payloads are refused above 80 %")
}

func limitKeys(fs *pflag.FlagSet, l *Limits) {
	fs.Int64Var(&l.InlineBytes, "limits.inline_bytes", 32<<10, "largest payload that travels inside a message")
	fs.Int64Var(&l.PayloadBytes, "limits.payload_bytes", 128<<20, "largest payload at all")
	fs.IntVar(&l.QueuePerCapability, "limits.queue_per_capability", 100_000, "tasks that may wait for a capability")
	fs.IntVar(&l.QueuePerAgent, "limits.queue_per_agent", 10_000, "tasks that may wait for an agent")
	fs.IntVar(&l.Schedules, "limits.schedules", 1000, "tasks that recur")
	fs.DurationVar(&l.SubmitWait, "limits.submit_wait", 2500*time.Millisecond, "how long a submit waits for a broker that does not answer")
}

func callbackKeys(fs *pflag.FlagSet, c *Callbacks) {
	fs.StringVar(&c.SecretFile, "callbacks.secret_file", "", "file with the secrets that sign callbacks, one a line; empty: no callbacks")
	fs.StringSliceVar(&c.Allow, "callbacks.allow", nil, "addresses and ranges that may be called although they are not public")
	fs.StringSliceVar(&c.Deny, "callbacks.deny", nil, "addresses and ranges that are never called")
	fs.DurationVar(&c.Timeout, "callbacks.timeout", 15*time.Second, "time that a receiver has to answer")
	fs.IntVar(&c.Attempts, "callbacks.attempts", 12, "attempts before a callback has failed")
	fs.DurationVar(&c.Backoff, "callbacks.backoff", 5*time.Second, "pause before the second attempt; it doubles, with jitter")
	fs.DurationVar(&c.BackoffCap, "callbacks.backoff_cap", time.Hour, "longest pause between two attempts")
	fs.IntVar(&c.Concurrency, "callbacks.concurrency", 256, "callbacks that a dispatcher makes at once")
	fs.IntVar(&c.PerReceiver, "callbacks.per_receiver", 8, "of those, to one receiver")
}

// otherNames are accepted for a key.
var otherNames = map[string]string{
	weightPrefix + "version_penalty": weightPrefix + "version",
}

// paths are the keys that name files and folders: in a configuration file they are relative to it.
var paths = map[string]bool{
	"broker.creds_file": true, "broker.password_file": true, "broker.token_file": true, "broker.data": true,
	"broker.cluster.password_file": true, "dictionary.files": true, "router.routes": true,
	"callbacks.secret_file":      true,
	"router.embeddings.key_file": true,
}

// envName is the environment variable of a key.
func envName(key string) string { return "REACH_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_")) }
