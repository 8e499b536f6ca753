// Package bench measures the product as it runs in earnest: a broker, dispatchers and a worker as processes of their own, callers
// that use the SDK, everything over TCP on the loopback interface. Between the product's turns it measures two floors with the same
// processes less the dispatcher, so that a number means the same on every machine.
//
// Run measures one scenario after the other, and all of them again for each repetition. Each measurement starts its processes anew
// in a folder of its own, and has ended them when it returns. The processes are this very program, called as Program with the
// arguments of its own commands. The caller of Run writes what is reported; nothing else writes.
package bench
