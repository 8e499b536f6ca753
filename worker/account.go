package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// account is what is to be told of one assignment: its hops, how far the agent is, and the chunks it has emitted. It is the Emit
// that the handler gets; a receipt may read it at any time.
type account struct {
	by   string
	now  func() time.Time
	tell func() // has a receipt sent, because there is something new to say; it does not block

	sending sync.Mutex // held while a chunk is kept and sent, so that both happen in one order

	mu       sync.Mutex
	hops     []schemas.Hop
	hopBytes int
	progress *schemas.Progress
	news     bool // the progress is another than the one that was told last
	chunks   chunks
	stream   *broker.ChunkWriter // nil before the handler is called
	parted   bool                // what it said was taken as a part of a result: nothing is added to that
	closed   bool
}

var _ Emit = (*account)(nil)

func newAccount(agentID string, resultLimit int, now func() time.Time, tell func()) *account {
	return &account{by: agentID, now: now, tell: tell, chunks: chunks{limit: resultLimit}}
}

// Chunk keeps one piece of the result, and sends it to whoever reads along. It waits while the fastest reader is a window behind.
func (a *account) Chunk(ctx context.Context, data schemas.Payload) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.sending.Lock()
	defer a.sending.Unlock()
	fits := schemas.ScanWithin(data) == nil
	stream, err := a.keep(data, fits)
	if err != nil || stream == nil {
		return err
	}
	return send(ctx, stream, data, fits)
}

// keep takes a chunk for the result. One that fits into a message is valid.
func (a *account) keep(data schemas.Payload, fits bool) (*broker.ChunkWriter, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.parted {
		return nil, errEnded
	}
	if a.chunks.count == 0 {
		a.note(schemas.HopFirstChunk)
	}
	a.chunks.add(data, fits)
	return a.stream, nil
}

// send passes a chunk on. One that no message can hold is counted, so that readers know that they have missed it.
func send(ctx context.Context, stream *broker.ChunkWriter, data schemas.Payload, fits bool) error {
	var err error
	if fits {
		err = stream.Write(ctx, data)
	} else {
		err = stream.Skip(ctx)
	}
	if errors.Is(err, broker.ErrStreamEnded) {
		return errEnded
	}
	return err
}

// open names the stream that chunks go out on; close ends it.
func (a *account) open(stream *broker.ChunkWriter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stream = stream
}

// Progress keeps the latest word, and has it told.
func (a *account) Progress(p schemas.Progress) {
	if p.Fraction != nil {
		p.Fraction = fraction(*p.Fraction)
	}
	p.Message = schemas.Clip(p.Message, schemas.MaxProgressMessage)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.progress = &p
	if !a.news {
		a.news = true
		a.tell()
	}
}

// fraction is f within 0 and 1; nil for what is no number.
func fraction(f float64) *float64 {
	if f != f {
		return nil
	}
	f = min(max(f, 0), 1)
	return &f
}

// Hop notes a step. Each is noted once; the request to the agent is the last one that was made.
func (a *account) Hop(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.note(name)
	}
}

// refused notes what was not accepted of what the agent said.
func (a *account) refused(detail any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	raw := schemas.MustEncode(detail)
	if a.closed || len(a.hops) >= schemas.MaxHops || a.hopBytes+len(raw) > schemas.MaxHopBytes {
		return
	}
	a.hops = append(a.hops, schemas.Hop{Hop: schemas.HopValidated, At: schemas.At(a.now()), By: a.by, Detail: raw})
	a.hopBytes += len(raw) + len(a.by) + 64
}

func (a *account) note(name string) {
	name = schemas.Clip(name, 64)
	hop := schemas.Hop{Hop: name, At: schemas.At(a.now()), By: a.by}
	at := slices.IndexFunc(a.hops, func(h schemas.Hop) bool { return h.Hop == name })
	if at >= 0 {
		if name == schemas.HopAdapterRequest {
			a.hops[at] = hop
		}
		return
	}
	if size := len(name) + len(a.by) + 64; len(a.hops) < schemas.MaxHops && a.hopBytes+size <= schemas.MaxHopBytes {
		a.hops = append(a.hops, hop)
		a.hopBytes += size
	}
}

// close notes that the agent is done; what its handler's goroutines say from now on is not heard.
func (a *account) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.note(schemas.HopAgentDone)
	a.closed = true
	if a.stream != nil {
		a.stream.End()
	}
}

// joined is the result that the chunks make.
func (a *account) joined() (result schemas.Payload, large *spooled, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.chunks.join()
}

// part is what the chunks make so far, as joined gives it; neither where there are none. None is taken from now on.
func (a *account) part() (result schemas.Payload, large *spooled) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.chunks.count == 0 {
		return nil, nil
	}
	a.parted = true
	result, large, err := a.chunks.join()
	if err != nil {
		return nil, nil
	}
	return result, large
}

// letGo forgets the chunks, once the result is told. A handler that was given up keeps none either.
func (a *account) letGo() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chunks.limit = 0
	a.chunks.drop()
}

// streamed is the number of the last chunk, 0 if there was none, and how many of them had to wait for their readers.
func (a *account) streamed() (last, stalls int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream == nil {
		return 0, 0
	}
	return a.stream.Last(), a.stream.Stalls()
}

func (a *account) soFar() (*schemas.Progress, []schemas.Hop) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.news = false
	return a.progress, slices.Clone(a.hops)
}

// hasNews reports whether there is a progress that soFar has not given yet.
func (a *account) hasNews() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.news
}
