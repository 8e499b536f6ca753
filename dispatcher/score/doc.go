// Package score chooses among the agents that may run a task. Filter says who may not have it, and why; Rank puts the others
// into order, by a weighted sum of factors or by another strategy; Choose does what a plan needs of that, and no more.
//
// All of it is pure: what a candidate is like comes as a value, the time too. The same candidates give the same order, whatever
// order they come in, on every dispatcher.
package score
