// Package protocol holds implementations of the worker's side of the wire against one table of exchanges: the scripts beside this
// file, which play a dispatcher. The worker may be written in any language: it runs as a child process. How to read a script is
// said in README.md. The package holds tests alone.
package protocol
