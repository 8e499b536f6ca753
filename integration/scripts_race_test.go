//go:build race

package integration

// underRace says that these tests run with the race detector; the binaries that they build do too.
const underRace = true
