// Package callback decides who is called when, and what follows from a call: which of the callbacks that are owed are made now, so
// that a receiver that hangs takes nobody else's turn, and whether one that failed is made again, and when.
//
// All of it is values: nothing here calls anybody or looks at a clock. Lines is not safe for concurrent use; its owner holds a lock.
package callback
