package mcp

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rs/zerolog"
)

// Config says how to reach one MCP server: by Command or by Endpoint. All else can be left out.
type Config struct {
	Command []string // the program and its arguments; no shell sees them
	Dir     string   // where it runs; "" is where the worker runs
	Env     []string // NAME=value, given to the program whatever the name; see process.Environment

	Endpoint string            // URL of streamable HTTP; a user and password in it become basic authentication
	Headers  map[string]string // sent with every request

	Tools     map[string]string // names of tools, with the capability that each is; a tool without an entry is that of its own name
	TextField string            // a text that is no JSON becomes {TextField: text}; "": what Expect makes of it

	ProtocolVersion string // of MCP; "" tries 2025-11-25 and then what the server and the library agree on

	ConnectTimeout time.Duration // for a program to start and greet, or for a server to greet; 30 s
	KillAfter      time.Duration // for a program to end, after its stdin was closed and again after SIGTERM; 2 s
	ReconnectAfter time.Duration // after a session was lost; doubles with each further one; 100 ms
	ReconnectMax   time.Duration // where the doubling ends; 30 s
	MaxResult      int           // bytes of one message of the server, and so of a result; 128 MiB
	MaxConns       int           // HTTP connections open at once; 256

	TLS    *tls.Config
	Proxy  func(*http.Request) (*url.URL, error) // nil: none, whatever the environment says
	Logger zerolog.Logger                        // gets what a program logs, masked and bounded, at level debug
}

const (
	defaultConnectTimeout = 30 * time.Second
	defaultKillAfter      = 2 * time.Second
	defaultReconnectAfter = 100 * time.Millisecond
	defaultReconnectMax   = 30 * time.Second
	defaultMaxResult      = 128 << 20
)

func (c Config) withDefaults() Config {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, defaultConnectTimeout)
	c.KillAfter = cmp.Or(c.KillAfter, defaultKillAfter)
	c.ReconnectAfter = cmp.Or(c.ReconnectAfter, defaultReconnectAfter)
	c.ReconnectMax = cmp.Or(c.ReconnectMax, defaultReconnectMax)
	c.MaxResult = cmp.Or(c.MaxResult, defaultMaxResult)
	return c
}

// where is how the server is spoken to.
func (c *Config) where() string {
	if c.Endpoint != "" {
		return "behind streamable HTTP"
	}
	return "on stdin and stdout"
}

// check also turns Tools around: from capabilities to tools.
func (c *Config) check() (map[string]string, error) {
	switch {
	case (len(c.Command) == 0) == (c.Endpoint == ""):
		return nil, errors.New("a command or an endpoint is needed, and not both")
	case c.ConnectTimeout < 0 || c.KillAfter < 0 || c.ReconnectAfter < 0 || c.ReconnectMax < 0 || c.MaxResult < 0 || c.MaxConns < 0:
		return nil, errors.New("timeouts and limits cannot be negative")
	}
	tools := make(map[string]string, len(c.Tools))
	for tool, capability := range c.Tools {
		if other, found := tools[capability]; found {
			return nil, fmt.Errorf("the tools %q and %q are both %s", min(tool, other), max(tool, other), capability)
		}
		tools[capability] = tool
	}
	return tools, nil
}
