package window

// Replay keeps the last chunks of a stream, within bounds: what is under way to the fastest reader always, and what others still
// need as long as there is room.
type Replay struct {
	most, mostBytes int

	first  int64 // the number of the oldest that is kept
	bodies [][]byte
	bytes  int
}

func newReplay(l Limits, first int64) Replay {
	return Replay{most: l.ReplayChunks, mostBytes: l.Bytes, first: first}
}

// First is the number of the oldest chunk that is kept, or of the next one if there is none.
func (r *Replay) First() int64 { return r.first }

// Next is the number of the chunk that is added next.
func (r *Replay) Next() int64 { return r.first + int64(len(r.bodies)) }

// Add keeps a chunk. The oldest ones go, but never the one just added.
func (r *Replay) Add(body []byte) {
	r.bodies = append(r.bodies, body)
	r.bytes += len(body)
	for len(r.bodies) > r.most || r.bytes > r.mostBytes && len(r.bodies) > 1 {
		r.drop()
	}
}

func (r *Replay) drop() {
	r.bytes -= len(r.bodies[0])
	r.bodies[0] = nil
	r.bodies = r.bodies[1:]
	r.first++
}

// Skip counts a chunk that cannot be carried: nobody can read past it.
func (r *Replay) Skip() { *r = Replay{most: r.most, mostBytes: r.mostBytes, first: r.Next() + 1} }

// At is a chunk that is kept; nil if it is not.
func (r *Replay) At(n int64) []byte {
	if n < r.first || n >= r.Next() {
		return nil
	}
	return r.bodies[n-r.first]
}

// Bytes is how much is kept.
func (r *Replay) Bytes() int { return r.bytes }
