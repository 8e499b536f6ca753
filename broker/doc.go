// Package broker is the only code of the house that knows NATS. It offers a small concrete type for each thing kept there: the
// Ledger of tasks and its feed, Buckets of records, requests and those who Serve them, and the Presence of dispatchers.
//
// The ledger is one stream with one message per subject. Every change of a task is one compare-and-set publish on the task's last
// message, and the sequence of that message is the fencing token; Ledger.Write keeps this rule and no one else writes. The feed is
// what the stream repeats of itself: a hint that can be lost, doubled or overtaken. What decides is read from the ledger.
//
// Goroutines: NATS calls each subscription's handler from one goroutine of its own, in order; Serve hands requests to goroutines of
// the connection, up to a bound. Watch and Presence each have one goroutine, which alone calls the callbacks given to them. Conn.Close ends
// and awaits all of them.
package broker
