// Package worker is what runs beside an agent: it registers the agent, takes the tasks that are assigned to it, runs each of them
// once through a Handler, and brings the result to a dispatcher. One worker serves any number of agents in one process. It is
// also the SDK for agents written in Go: a function is a Handler, and Run is all there is to call.
//
// Each agent has a station of its own. Everything that a station holds is in its inbox, behind one lock; an assignment is in one
// step at a time (waiting, beginning, running, finishing, releasing), and only the inbox changes it. The intake, called by the
// broker's goroutines for the feed, the control subject, pulls and heartbeats, puts assignments in. One loop each starts what has
// a slot and hands back what would wait too long (starter), asks for work (puller), sends heartbeats (beater) and receipts
// (reporter). A started assignment has two goroutines of the runner: one holds the slot, begins and calls the handler; the other
// waits for it, gives it up when it outlasts its context by too much, and repeats the result until a dispatcher has answered. The
// loops are woken by bells; no loop calls another. Run returns when all of these goroutines have ended.
//
// With a journal a worker that was killed goes on where it stopped. All stations write to one: that an attempt with side effects is
// about to begin, how an attempt has ended, and that a dispatcher has had the last word on it. The next process repeats the results
// that nobody has answered, before it registers an agent, and answers an attempt that was made before without making it again.
package worker
