// Package streaming tests streams of chunks through the whole house: agents, workers, dispatchers and their HTTP fronts, with readers
// over HTTP and NATS.
package streaming
