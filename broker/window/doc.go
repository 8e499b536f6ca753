// Package window decides how a stream of chunks flows from one writer to any number of readers over a network that may lose, repeat
// and delay what it carries. Everything in it is a value that is told what happened, and when, and says what to send; it has no
// clock, no lock and no goroutine. Package broker brings the messages.
//
// Sender is the writer's side. It holds the bounded Replay, a Window for each reader, and the pace of the agent and of each reader.
// Receiver is a reader's side. Both count a Window in the same way, so that what the Sender takes to be within a reader's window the
// Receiver never refuses.
package window
