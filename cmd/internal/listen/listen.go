// Package listen decides where the house may listen. Nothing here asks callers for a key, so whoever can connect can do everything:
// listeners stay on the loopback interface until someone says in so many words that they may leave it.
package listen

import (
	"net"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// ReasonNotLoopback is the reason of a refused address.
const ReasonNotLoopback = "NOT_LOOPBACK"

// Check refuses an address that is reachable from other machines, unless insecure. What is the listener's name in the error.
func Check(what, address string, insecure bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return schemas.NewError(schemas.InvalidArgument, "", "%s: %q is not an address such as 127.0.0.1:8500", what, address)
	}
	if insecure || Loopback(host) {
		return nil
	}
	return schemas.NewError(schemas.InvalidArgument, ReasonNotLoopback,
		"%s would listen on %s, which other machines can reach, and no keys are configured: "+
			"use 127.0.0.1, or --insecure-listen on a network that you trust", what, address)
}

// Loopback is whether only this machine can reach the host: an address of the loopback range, or localhost. The empty host is every
// interface; any other name could be anything by the time it is looked up.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
