// Package dictionary holds the capabilities that exist. There is one dictionary: a capability has the same id and the same contract
// on every device. It resolves what callers say to ids, refuses registrations that name strangers, and suggests neighbours.
//
// A Dictionary never changes; With and Without make another one. So a reader that holds one sees one state of the world, and
// whoever follows the changes swaps a pointer.
package dictionary
