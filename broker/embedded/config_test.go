package embedded

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func TestConfigIsRefused(t *testing.T) {
	t.Parallel()
	alone := Config{Dir: "data"}
	member := Config{
		Dir: "data", Listen: "127.0.0.1:0", ServerName: "a",
		Cluster: Cluster{Name: "c", Listen: "127.0.0.1:0", Routes: []string{"127.0.0.1:6223"}},
	}
	tests := []struct {
		name   string
		base   Config
		change func(*Config)
		want   string // part of the error; "" when accepted
	}{
		{"a directory is all that is needed", alone, func(*Config) {}, ""},
		{"a member of a cluster is complete", member, func(*Config) {}, ""},
		{"no directory", alone, func(c *Config) { c.Dir = "" }, "directory is not set"},
		{"an interval below zero", alone, func(c *Config) { c.SyncInterval = -time.Second }, "negative"},
		{"a limit below zero", alone, func(c *Config) { c.MaxStore = -1 }, "negative"},
		{"a listen address without port", alone, func(c *Config) { c.Listen = "localhost" }, "missing port"},
		{"a port that is no number", alone, func(c *Config) { c.Listen = "localhost:nats" }, "number"},
		{"a port out of range", alone, func(c *Config) { c.Listen = "localhost:70000" }, "65535"},
		{"a cluster that clients cannot reach", member, func(c *Config) { c.Listen = "" }, "needs a listen address"},
		{"a cluster member without a name of its own", member, func(c *Config) { c.ServerName = "" }, "server name"},
		{"a cluster without name", member, func(c *Config) { c.Cluster.Name = "" }, "no name"},
		{"a cluster without route address", member, func(c *Config) { c.Cluster.Listen = "" }, "for routes"},
		{"a cluster of nobody else", member, func(c *Config) { c.Cluster.Routes = nil }, "no routes"},
		{"a cluster user without password", member, func(c *Config) { c.Cluster.User = "u" }, "together"},
		{"a route without port", member, func(c *Config) { c.Cluster.Routes = []string{"node"} }, "host:port"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := tt.base
			tt.change(&cfg)
			err := cfg.check()
			if err == nil {
				_, err = cfg.options(1)
			}
			if got := errorText(err); (tt.want == "") != (err == nil) || !strings.Contains(got, tt.want) {
				t.Errorf("got error %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRoutesAreGivenThePassword(t *testing.T) {
	t.Parallel()
	c := Cluster{User: "reach", Password: "secret"}
	for address, want := range map[string]string{
		"10.0.0.2:6222":              "nats://reach:secret@10.0.0.2:6222",
		"nats://10.0.0.2:6222":       "nats://reach:secret@10.0.0.2:6222",
		"nats://a:b@broker.lan:6222": "nats://a:b@broker.lan:6222",
	} {
		got, err := c.route(address)
		if err != nil || got.String() != want {
			t.Errorf("route(%s) = %v, %v, want %s", address, got, err, want)
		}
	}
	if _, err := c.route("nats://a:hidden@nowhere"); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a route without port gave %v, want an error without the password", err)
	}
}

func TestSplitAddress(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, address, host string
		port                int
	}{
		{"as written", "0.0.0.0:4222", "0.0.0.0", 4222},
		{"an empty host is loopback", ":4222", loopback, 4222},
		{"port 0 is any", ":0", loopback, server.RANDOM_PORT},
		{"version 6", "[::1]:4222", "::1", 4222},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host, port, err := splitAddress(tt.address)
			if err != nil || host != tt.host || port != tt.port {
				t.Errorf("got %s, %d, %v, want %s, %d", host, port, err, tt.host, tt.port)
			}
		})
	}
}

func TestBoundStore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                     string
		wanted, used, free, want int64
	}{
		{"what is wanted, when there is room", 100, 0, 1000, 100},
		{"nine tenths of what is free", 1000, 0, 100, 90},
		{"what is there already counts as room", 1000, 500, 100, 590},
		{"never nothing", 1000, 0, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := boundStore(tt.wanted, tt.used, tt.free); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
