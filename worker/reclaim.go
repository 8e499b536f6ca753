package worker

import (
	"runtime/debug"
	"sync/atomic"
)

// reclaimAfter is how many bytes of large bodies are moved, or done with, before their memory is given back.
const reclaimAfter = 64 << 20

// reclaimer gives the memory of large bodies back to the system: each leaves as much garbage as it is long when it has been moved in parts, and
// once more when it is done with. The runtime would let as much of it gather as there is in use, and keep it for bodies that may never
// come.
type reclaimer struct{ left atomic.Int64 }

// leave notes garbage of so many bytes.
func (r *reclaimer) leave(bytes int64) {
	if bytes == 0 || r.left.Add(bytes) < reclaimAfter || r.left.Swap(0) < reclaimAfter {
		return
	}
	debug.FreeOSMemory()
}
