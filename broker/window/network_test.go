package window

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/schemas"
)

// network carries messages between one Sender and some Receivers, badly: each link loses, repeats, delays and overtakes.
type network struct {
	t       *rapid.T
	limits  Limits
	now     time.Time
	sender  *Sender
	readers []*far
	written int64
}

// far is a reader at the other end.
type far struct {
	name   string
	r      *Receiver
	down   []Send           // on their way to it
	up     []schemas.Credit // on their way from it
	got    []int64
	over   bool
	served bool // the sender took it in at its beginning: there is nothing that it could have missed
}

func newNetwork(t *rapid.T) *network {
	n := &network{t: t, now: noon, limits: Limits{
		Chunks: rapid.IntRange(1, 6).Draw(t, "window"), Reach: rapid.IntRange(1, 12).Draw(t, "reach"),
		ReplayChunks: rapid.IntRange(6, 20).Draw(t, "replay"),
		Silence:      time.Hour, Standstill: time.Hour, SpanChunks: 1 << 40,
	}}
	n.sender, _ = Open(n.limits, Start{Attempt: 1}, n.now)
	for i := range rapid.IntRange(1, 3).Draw(t, "readers") {
		n.readers = append(n.readers, n.newReader(fmt.Sprint("r", i), true))
	}
	return n
}

func (n *network) newReader(name string, served bool) *far {
	f := &far{name: name, r: NewReceiver(n.limits, 0, n.now), served: served}
	f.send(f.r.Join())
	if served { // its first credit arrives: from then on nothing may be missing
		n.hear(f, 0)
	}
	return f
}

func (f *far) send(c *schemas.Credit) {
	if c != nil {
		credit := *c
		credit.Reader = f.name
		f.up = append(f.up, credit)
	}
}

func (n *network) say(sends []Send) {
	for _, send := range sends {
		for _, f := range n.readers {
			if send.Reader == "" || send.Reader == f.name {
				f.down = append(f.down, send)
			}
		}
	}
}

// hear brings a credit to the sender.
func (n *network) hear(f *far, i int) {
	credit := f.up[i]
	f.up = slices.Delete(f.up, i, i+1)
	n.say(n.sender.Credit(credit, n.now))
}

// deliver brings a message to a reader.
func (n *network) deliver(f *far, i int) {
	send := f.down[i]
	f.down = slices.Delete(f.down, i, i+1)
	mine := send.Reader != ""
	if send.Notice != nil {
		f.send(f.r.Notice(send.Notice, mine, n.now))
		return
	}
	number, err := strconv.ParseInt(string(send.Body), 10, 64)
	if err != nil {
		n.t.Fatal(err)
	}
	f.send(f.r.Chunk(&schemas.Chunk{Attempt: 1, N: number}, len(send.Body), mine, n.now))
}

func (n *network) take(f *far) bool {
	piece, found, credit, _ := f.r.Take()
	f.send(credit)
	if piece.Chunk != nil {
		f.got = append(f.got, piece.Chunk.N)
	}
	f.over = f.over || piece.Notice != nil
	return found
}

func (n *network) write() bool {
	body := fmt.Append(nil, n.written+1)
	if !n.sender.Room(len(body), n.now) {
		return false
	}
	n.written++
	n.say(n.sender.Add(body, n.now))
	return true
}

// check holds at any time.
func (n *network) check() {
	fastest := int64(-1)
	for _, r := range n.sender.readers.reading() {
		fastest = max(fastest, r.window.Acked())
	}
	if fastest >= 0 && n.written-fastest > int64(n.limits.Chunks) {
		n.t.Fatalf("%d chunks are out, the fastest reader has %d", n.written, fastest)
	}
	if kept := len(n.sender.replay.bodies); kept > n.limits.ReplayChunks {
		n.t.Fatalf("%d chunks are kept", kept)
	}
	for _, f := range n.readers {
		if len(f.r.queue) > max(n.limits.Chunks, n.limits.Reach)+1 {
			n.t.Fatalf("%s holds %d pieces", f.name, len(f.r.queue))
		}
		for i, number := range f.got {
			if number != int64(i)+1 {
				n.t.Fatalf("%s got %v", f.name, f.got)
			}
		}
	}
}

// settle ends the stream and lets the network work without faults until every reader has all that it will get.
func (n *network) settle() {
	n.say(n.sender.End(n.now))
	for _, f := range n.readers {
		f.r.End(n.written, n.now)
	}
	for range 40 * (n.written + 10) {
		n.now = n.now.Add(time.Second)
		done := true
		for _, f := range n.readers {
			for len(f.up) > 0 {
				n.hear(f, 0)
			}
			for len(f.down) > 0 {
				n.deliver(f, 0)
			}
			for n.take(f) {
			}
			f.send(f.r.Ack())
			f.send(f.r.Beat(time.Second, n.now))
			done = done && f.r.Complete()
		}
		n.check()
		if done {
			return
		}
	}
	n.t.Fatal("the readers never got to the end")
}

func (n *network) reader(t *rapid.T) *far { return rapid.SampledFrom(n.readers).Draw(t, "reader") }

// index is a message of a queue: mostly the first, since links mostly keep the order.
func index(t *rapid.T, length int) int {
	if length == 0 {
		t.Skip("nothing is on its way")
	}
	if rapid.IntRange(0, 3).Draw(t, "overtaking") > 0 {
		return 0
	}
	return rapid.IntRange(0, length-1).Draw(t, "message")
}

// Whatever a network does, a reader is given each chunk once and in order, up to the end or to the notice that says that there are
// no more; no side ever holds more than its bounds; and the fastest reader never misses any.
func TestNothingIsLostRepeatedOrOutOfOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := newNetwork(t)
		deliver := func(t *rapid.T) { f := n.reader(t); n.deliver(f, index(t, len(f.down))) }
		hear := func(t *rapid.T) { f := n.reader(t); n.hear(f, index(t, len(f.up))) }
		take := func(t *rapid.T) { n.take(n.reader(t)) }
		write := func(*rapid.T) { n.write() }
		t.Repeat(map[string]func(*rapid.T){
			"":      func(*rapid.T) { n.check() },
			"write": write, "write again": write, "deliver": deliver, "deliver again": deliver, "hear": hear, "take": take, "take again": take,
			"acknowledge": func(t *rapid.T) { f := n.reader(t); f.send(f.r.Ack()) },
			"beat": func(t *rapid.T) {
				f := n.reader(t)
				n.now = n.now.Add(time.Second)
				f.send(f.r.Beat(time.Second, n.now))
			},
			"repeat a chunk": func(t *rapid.T) {
				f := n.reader(t)
				f.down = append(f.down, f.down[index(t, len(f.down))])
			},
			"repeat a credit": func(t *rapid.T) {
				f := n.reader(t)
				f.up = append(f.up, f.up[index(t, len(f.up))])
			},
			"lose a message": func(t *rapid.T) {
				f := n.reader(t)
				i := index(t, len(f.down))
				f.down = slices.Delete(f.down, i, i+1)
			},
			"cut a reader off": func(t *rapid.T) {
				f := n.reader(t)
				f.down, f.up = nil, nil
				f.send(f.r.Join())
			},
			"cut the writer off": func(*rapid.T) {
				for _, f := range n.readers {
					f.down, f.up = nil, nil
				}
				n.say(n.sender.Lost(n.now))
			},
			"one more reader": func(t *rapid.T) {
				if len(n.readers) > 5 {
					t.Skip("there are enough")
				}
				n.readers = append(n.readers, n.newReader(fmt.Sprint("r", len(n.readers)), false))
			},
		})
		n.settle()
		most := int64(0)
		for _, f := range n.readers {
			got := int64(len(f.got))
			most = max(most, got)
			if !f.over && got != n.written {
				t.Fatalf("%s got %d of %d chunks, and no notice", f.name, got, n.written)
			}
		}
		if most != n.written {
			t.Fatalf("%d chunks were written, no reader got more than %d", n.written, most)
		}
	})
}
