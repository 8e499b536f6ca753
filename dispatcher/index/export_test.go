package index

// Deadlines is how many deadlines are kept.
func (x *Index) Deadlines() int { return len(x.due.heap) + len(x.expiring.heap) }
