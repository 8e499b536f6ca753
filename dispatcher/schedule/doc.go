// Package schedule says when a recurring task is due. It is pure: an expression in the form of cron and a time zone give the next time
// after any other, the same on every dispatcher; and what has become due since the last one gives what is to run, and what is not.
//
// Of the library that reads the expressions only the next time at a fixed offset is used. What happens when clocks are changed is
// decided here.
package schedule
