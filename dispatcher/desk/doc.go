// Package desk serves agents that have no connection to the broker. They ask over something like HTTP, one request at a time; the desk
// speaks the worker's protocol for them: it hears their assignments and what dispatchers say to them, and hands both over when they ask.
//
// What an agent says is fenced by the ledger, whichever desk it says it to; a desk only remembers what makes it quick. An agent that
// asks at another desk, or at this one after a restart, goes on.
//
// Each agent has a place. Its subscriptions put into it what arrives, requests take it out, and the goroutine of Run looks after run
// limits and closes the places of agents that are silent; a place's lock is held by whoever does so, never while something is asked.
package desk
