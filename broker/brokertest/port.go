package brokertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports that a broker must get again after an outage lie below those that the kernel gives to passing connections
// (from 32768 on), so that no other test can be handed one meanwhile.
const (
	firstPort = 12000
	lastPort  = 32000
)

// freeAddress finds a loopback address where nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort))
		listener, err := net.Listen("tcp", address)
		if err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatal("find a free port: all that were tried are taken")
	return ""
}
