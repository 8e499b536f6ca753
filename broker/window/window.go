package window

// Window is what lies between a writer and one reader: the chunks that were sent, one after the other, and are not acknowledged.
type Window struct {
	most, reach, mostBytes int

	acked int64 // the number of the last chunk that is acknowledged
	sizes []int // of those after it
	bytes int
}

func newWindow(l Limits, acked int64) Window {
	return Window{most: l.Chunks, reach: l.Reach, mostBytes: l.Bytes, acked: acked}
}

// Acked is the number of the last chunk that is acknowledged.
func (w *Window) Acked() int64 { return w.acked }

// Sent is the number of the last chunk that was sent.
func (w *Window) Sent() int64 { return w.acked + int64(len(w.sizes)) }

// Room reports whether the next chunk may be sent on this reader's account. One may always be under way, however large it is.
func (w *Window) Room(size int) bool { return w.within(w.most, size) }

// Reaches reports whether the reader takes the next chunk if it is sent on another's account.
func (w *Window) Reaches(size int) bool { return w.within(w.reach, size) }

func (w *Window) within(most, size int) bool {
	return len(w.sizes) == 0 || len(w.sizes) < most && w.bytes+size <= w.mostBytes
}

// Send notes that the next chunk was sent.
func (w *Window) Send(size int) {
	w.sizes = append(w.sizes, size)
	w.bytes += size
}

// Ack acknowledges all chunks up to n, and reports whether that is news. It may know of more than was noted as sent.
func (w *Window) Ack(n int64) bool {
	if n <= w.acked {
		return false
	}
	for _, size := range w.sizes[:min(n-w.acked, int64(len(w.sizes)))] {
		w.bytes -= size
	}
	w.sizes = append(w.sizes[:0], w.sizes[min(n-w.acked, int64(len(w.sizes))):]...)
	w.acked = n
	return true
}

// Back notes that n was the last chunk to arrive: what was sent after it counts as not sent.
func (w *Window) Back(n int64) {
	for w.Sent() > n && len(w.sizes) > 0 {
		w.bytes -= w.sizes[len(w.sizes)-1]
		w.sizes = w.sizes[:len(w.sizes)-1]
	}
	w.acked = min(w.acked, n)
}

// Restart empties the window: the next chunk is the one after n.
func (w *Window) Restart(n int64) { w.acked, w.sizes, w.bytes = n, w.sizes[:0], 0 }
