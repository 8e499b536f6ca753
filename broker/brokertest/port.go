package brokertest

import (
	"testing"

	"github.com/agentreach/agent-reach/broker/internal/freeport"
)

// FreeAddress is a loopback address, host:port, where nobody listens, for a program that is to listen there whenever it runs. It is the
// test's until its end.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return freeport.Address(t)
}
