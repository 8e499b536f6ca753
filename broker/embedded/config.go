package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

// Defaults of a Config whose fields are zero.
const (
	DefaultSyncInterval = 100 * time.Millisecond
	DefaultMaxStore     = 64 << 30
	DefaultMaxMemory    = 256 << 20
	DefaultMaxPayload   = 1 << 20
	DefaultServerName   = "reach"
)

const (
	pingInterval  = 15 * time.Second
	maxPingsOut   = 2 // a half-open connection is found out after three intervals
	writeDeadline = 10 * time.Second
	loopback      = "127.0.0.1"
)

// Config of an embedded server. Only Dir is required: a server with nothing else set is heard in this process alone.
type Config struct {
	// Dir holds everything the server keeps. One server at a time may use it.
	Dir string

	// Listen is the client address, "host:port". Port 0 takes any free port, an empty host means loopback: to be heard
	// from outside, say so ("0.0.0.0:4222"). An empty Listen opens no port; InProcessConn works all the same.
	Listen string

	// MQTT is the address of an MQTT 3.1.1 listener, as Listen; empty opens none.
	MQTT string

	// SyncInterval is how long an acknowledged write may stay in the page cache: what a power failure can take.
	// SyncAlways flushes every write before it is acknowledged instead.
	SyncInterval time.Duration
	SyncAlways   bool

	// MaxStore and MaxMemory bound JetStream, in bytes. MaxStore is lowered to what the disk can hold.
	MaxStore  int64
	MaxMemory int64

	ServerName string
	MaxPayload int32
	Cluster    Cluster
	Logger     zerolog.Logger
}

// Cluster makes the server one of several that replicate each other's streams. The zero value stands alone.
// Servers of a cluster have the same Name and each its own ServerName, which must not change between restarts.
type Cluster struct {
	Name   string
	Listen string   // route address, as Config.Listen
	Routes []string // route addresses of the others, at least one: "host:port" or "nats://user:password@host:port"

	// Advertise is the route address that servers tell each other of this one, where it is not Listen.
	Advertise string

	// User and Password are asked of every server that opens a route, and given to every address in Routes that names none.
	User     string
	Password string
}

func (c Cluster) enabled() bool { return c.Name != "" || c.Listen != "" || len(c.Routes) > 0 }

func (c Cluster) check() error {
	switch {
	case !c.enabled():
		return nil
	case c.Name == "":
		return errors.New("cluster has no name")
	case c.Listen == "":
		return errors.New("cluster has no listen address for routes")
	case len(c.Routes) == 0:
		return errors.New("cluster has no routes to the other servers")
	case (c.User == "") != (c.Password == ""):
		return errors.New("cluster user and password must be set together")
	}
	return nil
}

func (c Config) check() error {
	switch {
	case c.Dir == "":
		return errors.New("broker directory is not set")
	case c.SyncInterval < 0:
		return fmt.Errorf("broker sync interval %s is negative", c.SyncInterval)
	case c.MaxStore < 0 || c.MaxMemory < 0 || c.MaxPayload < 0:
		return errors.New("broker limits must not be negative")
	case c.Cluster.enabled() && c.Listen == "":
		return errors.New("broker in a cluster needs a listen address")
	case c.Cluster.enabled() && c.ServerName == "":
		return errors.New("broker in a cluster needs a server name of its own")
	}
	return c.Cluster.check()
}

// options turns the configuration into the server's own. maxStore is what limits allow.
func (c Config) options(maxStore int64) (*server.Options, error) {
	o := &server.Options{
		ServerName:             cmp.Or(c.ServerName, DefaultServerName),
		NoSigs:                 true,
		MaxPayload:             cmp.Or(c.MaxPayload, DefaultMaxPayload),
		PingInterval:           pingInterval,
		MaxPingsOut:            maxPingsOut,
		WriteDeadline:          writeDeadline,
		JetStream:              true,
		StoreDir:               c.Dir,
		JetStreamMaxStore:      maxStore,
		JetStreamMaxMemory:     cmp.Or(c.MaxMemory, DefaultMaxMemory),
		JetStreamLimits:        server.JSLimitOpts{DefaultMaxConsumers: -1},
		DisableJetStreamBanner: true,
		SyncInterval:           cmp.Or(c.SyncInterval, DefaultSyncInterval),
		SyncAlways:             c.SyncAlways,
	}
	if err := errors.Join(c.listen(o), c.listenMQTT(o)); err != nil {
		return nil, err
	}
	if !c.Cluster.enabled() {
		return o, nil
	}
	return o, c.Cluster.join(o)
}

func (c Config) listen(o *server.Options) (err error) {
	if c.Listen == "" {
		o.DontListen = true
		return nil
	}
	o.Host, o.Port, err = splitAddress(c.Listen)
	return err
}

func (c Config) listenMQTT(o *server.Options) (err error) {
	if c.MQTT == "" {
		return nil
	}
	o.MQTT.Host, o.MQTT.Port, err = splitAddress(c.MQTT)
	return err
}

func (c Cluster) join(o *server.Options) (err error) {
	o.Cluster.Name, o.Cluster.Username, o.Cluster.Password, o.Cluster.Advertise = c.Name, c.User, c.Password, c.Advertise
	o.Cluster.Host, o.Cluster.Port, err = splitAddress(c.Listen)
	if err != nil {
		return err
	}
	for _, address := range c.Routes {
		route, err := c.route(address)
		if err != nil {
			return err
		}
		o.Routes = append(o.Routes, route)
	}
	return nil
}

func (c Cluster) route(address string) (*url.URL, error) {
	route, err := url.Parse(address)
	if err != nil || route.Host == "" {
		route, err = url.Parse("nats://" + address)
	}
	if err != nil || route.Port() == "" {
		// The address is not repeated: it may hold a password.
		return nil, errors.New("cluster route is not host:port")
	}
	if route.User == nil && c.User != "" {
		route.User = url.UserPassword(c.User, c.Password)
	}
	return route, nil
}

// splitAddress reads "host:port" the way the server wants it: an empty host is loopback, port 0 is any free one.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("read listen address: %w", err)
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("read listen address %s: port must be a number up to 65535", address)
	}
	if number == 0 {
		return cmp.Or(host, loopback), server.RANDOM_PORT, nil
	}
	return cmp.Or(host, loopback), int(number), nil
}
