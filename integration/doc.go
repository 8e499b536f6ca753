// Package integration tests the house as a whole: who may import whom, and whole stories told across processes. It holds tests
// alone; nothing imports it.
package integration
