// Package freeport finds ports for the servers of tests. An address is one test's alone, from before its server listens there until the
// test has ended.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports that a program must get again after it was away lie below those that the kernel gives to passing connections
// (from 32768 on), so that no other test can be handed one meanwhile.
const (
	firstPort = 12000
	lastPort  = 32000
)

var given sync.Map // addresses that somebody in this process has, though perhaps nobody listens there yet

// Address is a loopback address, host:port, where nobody listens, for a program that is to listen there whenever it runs. It is the
// test's until its end.
func Address(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort))
		if _, taken := given.LoadOrStore(address, true); taken {
			continue
		}
		t.Cleanup(func() { given.Delete(address) })
		listener, err := net.Listen("tcp", address)
		if err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatal("find a free port: all that were tried are taken")
	return ""
}
