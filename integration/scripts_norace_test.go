//go:build !race

package integration

// underRace says that these tests run without the race detector.
const underRace = false
