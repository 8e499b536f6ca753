// Package index knows which tasks are open. It is a pure fold over the ledger's events: given the same events it holds the same
// tasks, in whatever order, however often and with whatever holes the events arrive, as long as the holes are filled.
//
// Two values share the work. Order puts events into the ledger's sequence and tells which ranges must be read from the ledger.
// Index folds ordered events into what a dispatcher asks all day: what waits, what is in flight on which agent, what is due and
// what has expired. Neither does I/O, neither is safe for concurrent use: their owner holds a lock.
package index
