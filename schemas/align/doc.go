// Package align says the same thing in the words of two contracts: a capability's, which callers know, and an agent's own. Where
// both schemas mean one member but write it in another way (max_sentences and maxSentences), give one instant in another form (RFC
// 3339 and seconds since 1970), or spell one constant differently (low and LOW), Derive finds it, and a Pair translates.
//
// Everything is decided by the two schemas when an agent registers, never by the look of a value. What no spelling names passes
// byte for byte. There and back is identity: names and constants are exchanged, so that even a value that has both spellings comes
// back as it was; an instant comes back in its usual form, in UTC. What cannot be carried exactly is left as it is, and the agent's
// schema says what is wrong with it. All values are immutable and safe for any number of goroutines.
package align
