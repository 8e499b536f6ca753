package dispatcher

import "time"

// recentlyEnded remembers the tasks that ended in the last seconds, so that results can be published again: a peer's in its
// place, and this one's own where its connection was lost.
type recentlyEnded struct{ ring []endedAt }

type endedAt struct {
	taskID string
	at     time.Time // when it ended, not when that was heard: a dispatcher that starts reads many old ends at once
}

// maxRecent bounds the memory of recently ended tasks.
const maxRecent = 100_000

// add drops what is too old, or too much, from the front. The space in front is freed when the ring has to grow.
func (r *recentlyEnded) add(e endedAt, keep time.Duration) {
	old := 0
	for old < len(r.ring) && (e.at.Sub(r.ring[old].at) > keep || len(r.ring)-old >= maxRecent) {
		old++
	}
	clear(r.ring[:old])
	r.ring = append(r.ring[old:], e)
}
