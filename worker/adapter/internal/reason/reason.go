// Package reason says in a sentence why an agent could not be reached, and what to do about it. It takes the errors of any transport,
// and gives nothing of the addresses, URLs and bytes that these have in them.
package reason

import (
	"errors"
	"net"
	"strings"
	"syscall"
)

// kind is a reason that is known: its sign in an error's text, what is said of it, and what to do.
type kind struct{ sign, why, advice string }

// kinds are tried in this order.
var kinds = []kind{
	{"connection refused", "connection refused", "is the agent running, and does it listen at this port?"},
	{"no such host", "no such host", "is the host's name right?"},
	{"produced zero addresses", "no such host", "is the host's name right?"}, // gRPC's word for it
	{"first record does not look like a TLS handshake", "the port does not use TLS", "use http, ws or grpc"},
	{"server gave HTTP response to HTTPS client", "the port does not use TLS", "use http, ws or grpc"},
	{"x509:", "its certificate is not trusted", "does it name this host, and is it in date? SSL_CERT_FILE can name a file of further authorities"},
	{"malformed HTTP", "the port does not speak HTTP/1.1", "is this the agent's port, and its transport?"},
	{"readLoopPeekFail", "the port does not speak HTTP/1.1", "is this the agent's port, and its transport?"}, // it spoke first
	{"looked like an HTTP/1.1 header", "the port does not speak gRPC", "is this the agent's port, and its transport?"},
	{"no application protocol", "the port does not speak gRPC", "is this the agent's port, and its transport?"},
	{"error reading server preface", "the port does not speak gRPC, or only over TLS", "is this the agent's port? grpcs:// uses TLS"},
	{"unsupported content type", "its answer is not MCP", "is the path of the endpoint right?"},
	{"deadline exceeded", timedOut, reachable},
	{"i/o timeout", timedOut, reachable},
	{"EOF", "the agent closed the connection", "its own log may say why"},
	{"connection reset by peer", "the agent closed the connection", "its own log may say why"},
}

const (
	timedOut  = "no answer in time"
	reachable = "is the address right, and does a firewall block the worker?"
)

// Of is what err says, and what to do where that is known.
func Of(err error) string {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return timedOut + ": " + reachable
	}
	text := err.Error()
	for _, known := range kinds {
		if strings.Contains(text, known.sign) {
			return known.why + ": " + known.advice
		}
	}
	return innermost(err)
}

// innermost is the text of an error without those around it, which name addresses.
func innermost(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
