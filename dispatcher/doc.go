// Package dispatcher accepts tasks, chooses agents, publishes assignments and follows each task to its one final answer. It keeps
// nothing that it could not read again from the ledger: run as many dispatchers as you like, side by side.
//
// What a dispatcher knows is one value, view, behind one lock: the index of open tasks, folded from the ledger's feed, and the
// roster of agents. Whoever handles a request decides on the view under the lock, writes to the ledger without it, and folds what
// it wrote. Only the feed's goroutine, the catch-up loop and these writers fold; folding is idempotent and ordered by the ledger's
// sequence, so it does not matter who is first. The loops (catch-up, re-send, rescue, sweep, bind) look at the view, decide by pure
// functions, and write as any request would: a compare-and-set that loses is no error, someone else was first.
package dispatcher
