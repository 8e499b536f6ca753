// Package schemas holds the words that every process of Agent-Reach shares: the names and shapes of everything that goes over the
// wire or into the ledger, the states and error codes, and the grammar of names. It does no I/O and imports nothing of the house.
//
// JSON is read and written by one codec, Decode and Encode: member names are exact, duplicate members and invalid UTF-8 are
// refused, number literals keep every digit, and members that a type does not know are kept in its Unknown field and written back.
// Accept is Decode for bytes that come from outside the house; it also bounds nesting and numbers.
package schemas
