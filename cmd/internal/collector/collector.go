// Package collector tunes the garbage collector for a process that makes much garbage beside a small heap, as every process of the
// house does: as it is set by default it would run dozens of times a second. The process may use some memory more, and in return
// collects less often; the larger the heap that lives, the nearer it comes to the default.
//
// GiveRoom has the runtime call this package after each collection, in the runtime's own goroutine. Nothing else runs here.
package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Room is how much garbage may lie about before it is collected, where the heap that lives is smaller than that.
const Room = 128 << 20

// The default of the runtime, and the most that GiveRoom sets: a heap that is nearly empty needs not all the room.
const (
	leastPercent = 100
	mostPercent  = 400
)

// GiveRoom sets the collector's pace now and after each collection. One that was set by hand, in GOGC or GOMEMLIMIT, stays.
func GiveRoom(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(mostPercent)
	afterCollection(leastPercent)
}

// afterCollection has the pace set again after the next collection, whose end is told by a thing that nobody holds: its finalizer.
func afterCollection(now int) {
	type nobodys struct{ _ [16]byte }
	runtime.SetFinalizer(new(nobodys), func(*nobodys) {
		next := percent(live())
		if next != now {
			debug.SetGCPercent(next)
		}
		afterCollection(next)
	})
}

// live is how many bytes the last collection has left.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// percent is how much the heap may grow, as a percentage of what lives.
func percent(live uint64) int {
	return int(min(max(100*Room/max(live, 1), leastPercent), mostPercent))
}
