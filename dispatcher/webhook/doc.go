// Package webhook posts one message to a receiver that a caller has named, signed as Standard Webhooks asks
// (https://www.standardwebhooks.com). It reaches public addresses alone, unless it is told otherwise, and judges the address that it
// is about to connect to, not the name that led there: whatever form a URL gives an address, whatever a resolver answers and wherever
// a redirect points, the connection is refused at the last moment before it is made.
//
// Every attempt is bounded in time and in bytes. No goroutine is started here that outlives an attempt; a Sender may be used by any
// number of goroutines at once.
package webhook
