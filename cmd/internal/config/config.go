// Package config reads the one configuration of Agent-Reach. A setting comes from a flag, else from its environment variable, else
// from the YAML file, else from its default, and the answer keeps where each came from. The keys are those that keys registers:
// environment names are made from them, and a key that is not among them is an error that names the nearest.
package config

import (
	"time"

	"github.com/agentreach/agent-reach/dispatcher/score"
)

// Config is everything that the broker, the dispatcher, the fronts and the adapters can be told.
type Config struct {
	Server     Server
	Broker     Broker
	Registry   Registry
	Dictionary Dictionary
	Router     Router
	Adaptor    Adaptor
	Ledger     Ledger
	Limits     Limits
	Callbacks  Callbacks
	Log        Log
}

// Server is the HTTP front, and the word that lets listeners leave the loopback interface.
type Server struct {
	Host           string
	Port           int
	InsecureListen bool
}

// Broker is the embedded broker (from Name on), or the URL and credentials of another one.
type Broker struct {
	URL          string
	CredsFile    string
	User         string
	PasswordFile string
	TokenFile    string
	Replicas     int

	Name         string
	Data         string
	Listen       string
	MQTT         string
	SyncInterval time.Duration
	Cluster      Cluster
}

// Cluster joins embedded brokers: all of one Name, each listening for the others and told of some of them. With a user and
// password, which all of them share, a node may be reached from other machines.
type Cluster struct {
	Name         string
	Listen       string
	Routes       []string
	User         string
	PasswordFile string
}

// Registry is how agents are watched.
type Registry struct {
	HeartbeatInterval time.Duration
	HeartbeatTTL      time.Duration
	ReceiptInterval   time.Duration
	ProbeInterval     time.Duration
	ProbeRetry        time.Duration
	Storage           string
}

// Dictionary names the files that add capabilities to the starter set.
type Dictionary struct{ Files []string }

// Router is how an agent is chosen.
type Router struct {
	Routes          string
	DefaultStrategy string
	ScoreWeights    score.Weights
	Embeddings      Embeddings
}

// Embeddings is an endpoint that finds what intents mean; without a URL none is asked.
type Embeddings struct {
	URL           string
	Model         string
	KeyFile       string
	Timeout       time.Duration
	MinSimilarity float64
}

// Adaptor is how workers speak to agents.
type Adaptor struct {
	HTTPConnectTimeoutMS int
	HTTPReadTimeoutMS    int
	WSPingInterval       time.Duration
}

// Ledger is how long and how much the broker keeps.
type Ledger struct {
	Retention    time.Duration
	DeadLetters  time.Duration
	MaxMessages  int64
	MaxBytes     int64
	MaxBodyBytes int64
}

// Limits bound what is accepted.
type Limits struct {
	InlineBytes        int64
	PayloadBytes       int64
	QueuePerCapability int
	QueuePerAgent      int
	Schedules          int
	SubmitWait         time.Duration
}

// Callbacks are how callers are told of the end of their tasks. Without a file of secrets there are none. All dispatchers on one broker
// are to have the same.
type Callbacks struct {
	SecretFile  string
	Allow       []string
	Deny        []string
	Timeout     time.Duration
	Attempts    int
	Backoff     time.Duration
	BackoffCap  time.Duration
	Concurrency int
	PerReceiver int
}

// Log is what is logged, and as what.
type Log struct {
	Level  string
	Format string
}
