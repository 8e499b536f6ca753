package worker

import "slices"

// Orders that the inbox takes: words of dispatchers, of the agent's health, and of the worker's own end.

// stop is a dispatcher's word that a task has ended: up to sequence, 0 for every one, nothing of it starts any more and what runs
// is canceled. It returns what a handler still has, and whether all else is known not to have begun.
func (b *inbox) stop(taskID string, sequence uint64) (live []*assignment, idle bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sequence == 0 {
		sequence = ^uint64(0)
	}
	b.ended.add(taskID, sequence)
	for _, a := range slices.Clone(b.held[taskID]) {
		if a.first > sequence {
			continue
		}
		switch a.step {
		case waiting:
			idle = true
			b.drop(a)
		case releasing:
			idle = true
		case beginning, running:
			a.cancel(ErrCanceled)
			live = append(live, a)
		}
	}
	return live, idle
}

// stopped reports whether the agent acknowledged that it has stopped, of an assignment that no handler has any more.
func (b *inbox) stopped(a *assignment) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return a.confirmed
}

// notYours ends what a dispatcher, who knows the ledger up to applied, says is no longer this worker's. Where a begin or a result
// is on its way, its answer decides.
func (b *inbox) notYours(sequences []uint64, applied uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.all() {
		if a.sequence <= applied && a.step != beginning && slices.Contains(sequences, a.sequence) {
			b.void(a)
		}
	}
}

// open lets assignments in.
func (b *inbox) open(draining bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = false
	b.draining = draining || b.stopping
}

// close lets nothing more in, forgets what waits and cancels the rest.
func (b *inbox) close(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, a := range b.all() {
		a.lost = a.step != finishing
		if a.step == waiting {
			b.drop(a)
		} else {
			a.cancel(cause)
		}
	}
}

// drain finishes what has begun and hands back the rest; final is for good.
func (b *inbox) drain(final bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draining = true
	b.stopping = b.stopping || final
	b.start.ring()
	b.beat.ring()
}

// resume ends a drain, but the final one.
func (b *inbox) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draining = b.stopping
	b.pull.ring()
	b.beat.ring()
}

// cancelRunning tells all handlers to stop.
func (b *inbox) cancelRunning(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.all() {
		if a.step == beginning || a.step == running {
			a.cancel(cause)
		}
	}
}

// setHealth notes whether the agent can work, and reports whether that is news.
func (b *inbox) setHealth(well bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	news := b.ill == well
	b.ill = !well
	return news
}
