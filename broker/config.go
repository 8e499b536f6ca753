package broker

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// Config of a connection. The zero value connects to a broker on this machine.
type Config struct {
	URL         string                     // "nats://host:port", several with commas; not used when Embedded is set
	Embedded    nats.InProcessConnProvider // a server within this process, reached without a port
	Name        string                     // shown by the server
	CredsFile   string
	User        string
	Password    string
	Token       string
	InboxPrefix string // "" is _INBOX
	Replicas    int    // of the stream and the buckets; 1 when 0
	Logger      zerolog.Logger

	// Bounds of the ledger. They are enforced where tasks are admitted; the stream itself never discards.
	MaxMessages int64 // 5,000,000 when 0
	MaxBytes    int64 // no bound when 0

	// Disturb, if set, wraps every handler of the feed: tests drop, double and swap events with it.
	Disturb func(next func(Entry)) func(Entry)

	Chunks ChunkConfig // of the streams that are written and read over the connection

	TryTimeout time.Duration // how long one try of a write or read waits for its answer; 2 s when 0
	Grace      time.Duration // how long Close lets handlers run before it ends their context; 1 s when 0
}

// Times that need no configuration.
const (
	connectTimeout   = 2 * time.Second
	reconnectWait    = 250 * time.Millisecond
	reconnectJitter  = 100 * time.Millisecond
	pingInterval     = 15 * time.Second
	storeTimeout     = 10 * time.Second // of a write or read whose context has no deadline
	requestTimeout   = time.Minute      // of a request whose context has no deadline
	setupTimeout     = 30 * time.Second // of a Setup whose context has no deadline
	maxPingsInFlight = 2
)

func (c Config) withDefaults() Config {
	c.URL = cmp.Or(c.URL, nats.DefaultURL)
	c.Name = cmp.Or(c.Name, "agent-reach")
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.MaxMessages = cmp.Or(c.MaxMessages, 5_000_000)
	c.TryTimeout = cmp.Or(c.TryTimeout, 2*time.Second)
	c.Grace = cmp.Or(c.Grace, time.Second)
	c.Chunks = c.Chunks.withDefaults()
	return c
}

func (c Config) check() error {
	if c.Replicas < 1 || c.Replicas > 5 || c.Replicas%2 == 0 {
		return fmt.Errorf("check broker configuration: replicas is %d, it takes 1, 3 or 5", c.Replicas)
	}
	if c.TryTimeout < 0 || c.Grace < 0 || c.MaxMessages < 0 || c.MaxBytes < 0 {
		return fmt.Errorf("check broker configuration: times and bounds are not negative")
	}
	if c.User == "" && c.Password != "" {
		return fmt.Errorf("check broker configuration: a password needs a user")
	}
	return nil
}

// options are what every connection of the house has: it never gives up, it buffers nothing while it is down, so that nothing is
// sent later than meant, and it notices a dead peer within a minute.
func (c Config) options() []nats.Option {
	options := []nats.Option{
		nats.Name(c.Name),
		nats.Timeout(connectTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPingsInFlight),
		nats.DrainTimeout(c.Grace),
		nats.SyncQueueLen(maxAnswer), // of which each answer of entries would else allocate 512 KiB
	}
	if c.Embedded != nil {
		options = append(options, nats.InProcessServer(c.Embedded))
	}
	if c.InboxPrefix != "" {
		options = append(options, nats.CustomInboxPrefix(c.InboxPrefix))
	}
	return append(options, c.credentials()...)
}

func (c Config) credentials() []nats.Option {
	var options []nats.Option
	if c.CredsFile != "" {
		options = append(options, nats.UserCredentials(c.CredsFile))
	}
	if c.User != "" {
		options = append(options, nats.UserInfo(c.User, c.Password))
	}
	if c.Token != "" {
		options = append(options, nats.Token(c.Token))
	}
	return options
}
