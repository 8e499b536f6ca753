package dispatcher

import "testing"

func TestBodiesAreKeptWithinBounds(t *testing.T) {
	t.Parallel()
	const size = 32 << 10
	var b bodies
	b.keep(1, make([]byte, maxBodyKept+1))
	if b.take(1) != nil {
		t.Error("one that is too large was kept")
	}
	fits := maxBodies / (size + bodyOverhead)
	for sequence := range uint64(fits + 1) {
		b.keep(sequence+1, make([]byte, size))
	}
	if b.take(1) != nil || b.take(2) == nil || b.take(uint64(fits+1)) == nil {
		t.Error("the oldest was not the one to go")
	}
	if b.take(2) != nil {
		t.Error("one was given away twice")
	}
	for sequence := range uint64(fits) {
		b.take(sequence + 1)
	}
	if b.bytes != 0 || len(b.kept) != 0 {
		t.Errorf("nothing is kept, and %d bytes are counted for %d", b.bytes, len(b.kept))
	}
}

func TestBodiesForgetWhatIsGone(t *testing.T) {
	t.Parallel()
	var b bodies
	b.keep(1, []byte("stays"))
	for sequence := uint64(2); sequence < 10_000; sequence++ {
		b.keep(sequence, []byte("goes"))
		b.keep(sequence, []byte("goes")) // the feed doubles at times
		b.take(sequence)
	}
	if len(b.order) > 3*bodyOverhead || string(b.take(1)) != "stays" {
		t.Errorf("%d sequences are remembered of one", len(b.order))
	}
}
