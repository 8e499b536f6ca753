// Package route decides what a message asks for: an intent, which is a meaning and not a name, becomes a capability with a
// strategy, a range of versions and a fallback. An operator writes routes into a file; without any, an intent is a capability's id
// or one of its aliases.
//
// Parse reads a file as a whole: it names every problem with its line, and a file with a problem gives no table. A Table never
// changes: whoever follows the file swaps a pointer. Everything here is pure.
package route
