package embedded

import (
	"cmp"
	"context"
	"fmt"
	"net"
)

// ListenError is a listener that cannot be opened: its port is taken, or the address is none of this machine.
type ListenError struct {
	Listener Listener
	Err      error
}

// Listener is one of those that a server opens.
type Listener string

// The listeners.
const (
	Clients Listener = "clients"
	MQTT    Listener = "MQTT"
)

func (e *ListenError) Error() string {
	return fmt.Sprintf("the broker's listener for %s cannot %s", e.Listener, e.Err)
}

func (e *ListenError) Unwrap() error { return e.Err }

// checkPorts opens each listener once before the server does: what the server says of a failure does not tell which of them it was.
func (c Config) checkPorts(ctx context.Context) error {
	for _, of := range []struct {
		listener Listener
		address  string
	}{{Clients, c.Listen}, {MQTT, c.MQTT}} {
		if of.address == "" {
			continue
		}
		host, port, err := net.SplitHostPort(of.address)
		if err != nil {
			return fmt.Errorf("read listen address: %w", err)
		}
		opened, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(cmp.Or(host, loopback), port))
		if err != nil {
			return &ListenError{of.listener, err}
		}
		if err := opened.Close(); err != nil {
			return &ListenError{of.listener, err}
		}
	}
	return nil
}
