package grpc

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Config says which server to call, and how. Target alone is needed.
type Config struct {
	Target string // host:port, or what else gRPC can resolve; grpcs://host:port is over TLS, grpc://host:port is not

	Method        string            // package.Service/Method for all capabilities; "" is our own service
	Methods       map[string]string // those of single capabilities
	DescriptorSet string            // file that describes the methods; "": the server does, by reflection
	Metadata      map[string]string // sent with every call
	HealthService string            // what the health check asks for; "" is the server as a whole

	Last           bool // the last message of a stream is the result, and not all of them
	DiscardUnknown bool // fields of a payload that the method does not know are dropped, and not refused
	Int64Numbers   bool // 64-bit integers of a result are numbers, and not texts

	ConnectTimeout time.Duration // for a connection; 3 s
	MaxMessage     int           // bytes of one message, either way; 128 MiB

	TLS *tls.Config // "": what Target says
}

const (
	defaultConnectTimeout = 3 * time.Second
	defaultMaxMessage     = 128 << 20
)

func (c Config) withDefaults() Config {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, defaultConnectTimeout)
	c.MaxMessage = cmp.Or(c.MaxMessage, defaultMaxMessage)
	if target, found := strings.CutPrefix(c.Target, "grpcs://"); found {
		c.Target = target
		if c.TLS == nil {
			c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
	}
	c.Target = strings.TrimPrefix(c.Target, "grpc://")
	return c
}

func (c *Config) check() error {
	switch {
	case c.Target == "":
		return errors.New("no target")
	case c.ConnectTimeout < 0 || c.MaxMessage < 0:
		return errors.New("timeouts and limits cannot be negative")
	}
	for name := range c.Metadata {
		if !headerName(name) {
			return fmt.Errorf("%q is no name of metadata that can be set", name)
		}
	}
	for _, method := range c.names() {
		if _, _, err := split(method); err != nil {
			return err
		}
	}
	return nil
}

// names are all methods that the configuration names.
func (c *Config) names() []string {
	var all []string
	if c.Method != "" {
		all = append(all, c.Method)
	}
	for _, method := range c.Methods {
		all = append(all, method)
	}
	return all
}

func (c *Config) methodFor(capability string) string {
	if method, found := c.Methods[capability]; found {
		return method
	}
	return c.Method
}

// ours is the metadata that names the task.
var ours = []string{
	"reach-task-id", "reach-capability", "reach-attempt", "reach-deadline", "idempotency-key", "traceparent",
}

// headerName reports whether a configuration may set it: no name of gRPC's own or of ours, and no binary value.
func headerName(name string) bool {
	lower := strings.ToLower(name)
	if lower == "" || strings.HasPrefix(lower, "grpc-") || strings.HasSuffix(lower, "-bin") {
		return false
	}
	for _, own := range ours {
		if lower == own {
			return false
		}
	}
	return !strings.ContainsFunc(lower, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	})
}

// connect makes a connection, which is made when it is first needed.
func connect(cfg Config, below *lines) (*rpc.ClientConn, error) {
	security := insecure.NewCredentials()
	if cfg.TLS != nil {
		security = credentials.NewTLS(cfg.TLS)
	}
	again := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: 30 * time.Second}
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3,
	}}
	return rpc.NewClient(cfg.Target,
		rpc.WithTransportCredentials(security),
		rpc.WithConnectParams(rpc.ConnectParams{Backoff: again, MinConnectTimeout: cfg.ConnectTimeout}),
		rpc.WithContextDialer(below.dial(dialer)),
		rpc.WithNoProxy(), rpc.WithDisableServiceConfig(), rpc.WithDisableRetry(),
		rpc.WithUserAgent("agent-reach"),
		rpc.WithStatsHandler(watcher{}),
		rpc.WithDefaultCallOptions(rpc.MaxCallRecvMsgSize(cfg.MaxMessage), rpc.MaxCallSendMsgSize(cfg.MaxMessage)),
	)
}
