package websocket

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/rs/zerolog"
)

// Config says how to reach one agent. Endpoint alone is needed.
type Config struct {
	Endpoint     string            // ws or wss; a user and password in it become basic authentication
	Headers      map[string]string // sent with the handshake
	Subprotocols []string          // offered to the agent; it need not take one

	// Resume says that the agent goes on with a task after its connection was lost: it numbers its chunks, and keeps those that may
	// be asked for again.
	Resume bool

	ConnectTimeout time.Duration // for the connection, its TLS, and the handshake; 3 s
	PingInterval   time.Duration // between two pings; 15 s
	PongTimeout    time.Duration // for anything at all to come from the agent after a ping; 10 s
	CancelWait     time.Duration // for an agent's last word on a task that is to stop; 5 s
	ResumeWithin   time.Duration // for the connection to be back, so that tasks are resumed; 30 s
	ReconnectAfter time.Duration // after a connection was lost; doubles with each further one; 100 ms
	ReconnectMax   time.Duration // where the doubling ends; 30 s
	MaxMessage     int           // bytes of one message of the agent, and so of a result; 128 MiB

	TLS    *tls.Config
	Proxy  func(*http.Request) (*url.URL, error) // nil: none, whatever the environment says
	Logger zerolog.Logger
}

const (
	defaultConnectTimeout = 3 * time.Second
	defaultPingInterval   = 15 * time.Second
	defaultPongTimeout    = 10 * time.Second
	defaultCancelWait     = 5 * time.Second
	defaultResumeWithin   = 30 * time.Second
	defaultReconnectAfter = 100 * time.Millisecond
	defaultReconnectMax   = 30 * time.Second
	defaultMaxMessage     = 128 << 20
)

func (c Config) withDefaults() Config {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, defaultConnectTimeout)
	c.PingInterval = cmp.Or(c.PingInterval, defaultPingInterval)
	c.PongTimeout = cmp.Or(c.PongTimeout, defaultPongTimeout)
	c.CancelWait = cmp.Or(c.CancelWait, defaultCancelWait)
	c.ResumeWithin = cmp.Or(c.ResumeWithin, defaultResumeWithin)
	c.ReconnectAfter = cmp.Or(c.ReconnectAfter, defaultReconnectAfter)
	c.ReconnectMax = cmp.Or(c.ReconnectMax, defaultReconnectMax)
	c.MaxMessage = cmp.Or(c.MaxMessage, defaultMaxMessage)
	return c
}

func (c *Config) check() error {
	for _, d := range []time.Duration{
		c.ConnectTimeout, c.PingInterval, c.PongTimeout, c.CancelWait, c.ResumeWithin, c.ReconnectAfter, c.ReconnectMax,
	} {
		if d < 0 {
			return errors.New("timeouts cannot be negative")
		}
	}
	if c.MaxMessage < 0 {
		return errors.New("limits cannot be negative")
	}
	return nil
}
