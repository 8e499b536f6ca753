package index

// Deadlines is how many deadlines are kept.
func (x *Index) Deadlines() int { return len(x.due.heap) + len(x.expiring.heap) }

// Queues is how many queues are kept.
func (x *Index) Queues() int {
	return len(x.queues.open) + len(x.queues.pinned) + len(x.queues.lengths)
}
