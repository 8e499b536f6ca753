package dispatcher

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/index"
)

const (
	gapTick      = 20 * time.Millisecond // how often holes are looked for
	compareEvery = time.Second           // how often the index is compared with the ledger
	compareFor   = 2 * time.Second       // how long the ledger may take to say where it stands
	refillChunk  = 1000                  // events folded at a time when reading the ledger
)

// keepUp is the catch-up loop: it fills the holes of the feed, compares the index with the ledger once a second and whenever the
// connection had trouble, and rebuilds it when the ledger is another.
func (d *Dispatcher) keepUp(ctx context.Context) error {
	tick := time.NewTicker(gapTick)
	defer tick.Stop()
	var compared time.Time
	var target uint64
	for {
		now := d.clock()
		trouble := false
		select {
		case <-ctx.Done():
			return nil
		case <-d.trouble:
			trouble = true
		case <-tick.C:
		}
		if trouble || now.Sub(compared) >= compareEvery {
			compared = now
			target = d.compare(ctx, target, trouble)
		}
		d.fillGap(ctx)
	}
}

// compare looks at the ledger's last sequence. What was there a second ago and has not come is read now; after trouble, all of it.
func (d *Dispatcher) compare(ctx context.Context, target uint64, trouble bool) uint64 {
	before := d.applied()
	asking, cancel := context.WithTimeout(ctx, compareFor)
	defer cancel()
	state, err := d.ledger.State(asking)
	if err != nil {
		d.onTrouble(broker.Trouble{})
		return target
	}
	d.noteLedger(state)
	if state.Last < before || !state.Created.Equal(d.created) {
		d.log.Warn().Uint64("last", state.Last).Msg("the ledger is another or went back: rebuilding the index")
		d.reset(state)
		trouble = true
	}
	if trouble {
		target = state.Last
	}
	if target > d.applied() {
		if err := d.refill(ctx, target); err != nil {
			d.log.Warn().Err(err).Msg("reading the ledger failed; it is tried again")
			d.troubled()
			return target
		}
	}
	if trouble {
		d.setCurrent(true)
	}
	return state.Last
}

// load reads the whole ledger at start.
func (d *Dispatcher) load(ctx context.Context) error {
	state, err := d.ledger.State(ctx)
	if err != nil {
		return fmt.Errorf("read the ledger's state: %w", err)
	}
	d.noteLedger(state)
	d.reset(state)
	if err := d.refill(ctx, state.Last); err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	d.setCurrent(true)
	return nil
}

func (d *Dispatcher) noteLedger(state broker.LedgerState) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.view.messages, d.view.bytes = state.Messages, state.Bytes
	d.skew.Store(int64(state.Now.Sub(d.clock())))
}

// reset empties the index, to be filled from the ledger's first message on.
func (d *Dispatcher) reset(state broker.LedgerState) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.created = state.Created
	d.view.order = index.NewOrder(max(state.First, 1) - 1)
	d.view.tasks = index.New()
	d.view.slots.Restart()
	d.view.callbacks.Clear()
	d.view.current = false
}

func (d *Dispatcher) fillGap(ctx context.Context) {
	d.view.mu.Lock()
	_, to, found := d.view.order.Gap(d.clock())
	d.view.mu.Unlock()
	if !found {
		return
	}
	if err := d.refill(ctx, to); err != nil {
		d.log.Debug().Err(err).Msg("reading a hole of the feed failed; it is tried again")
	}
}

// refill reads the ledger after what has been applied, up to a sequence, and folds it a chunk at a time. Chunks are decoded side by
// side and folded in order.
func (d *Dispatcher) refill(ctx context.Context, to uint64) error {
	from := d.applied() + 1
	if to < from {
		return nil
	}
	chunks := make(chan decoding, 2*runtime.GOMAXPROCS(0))
	reading, ctx := errgroup.WithContext(ctx)
	reading.Go(func() error {
		defer close(chunks)
		return d.read(ctx, from, to, chunks)
	})
	for chunk := range chunks {
		d.fill(<-chunk.events, chunk.last)
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	d.fill(nil, to)
	return nil
}

// decoding is a chunk of the ledger on its way to the fold: its last sequence, and its events once they are decoded.
type decoding struct {
	last   uint64
	events chan []index.Event
}

// read reads a range of the ledger and starts the decoding of its chunks.
func (d *Dispatcher) read(ctx context.Context, from, to uint64, chunks chan<- decoding) error {
	var entries []broker.Entry
	flush := func() {
		if len(entries) == 0 {
			return
		}
		chunk := decoding{last: entries[len(entries)-1].Sequence, events: make(chan []index.Event, 1)}
		go func(entries []broker.Entry) { chunk.events <- d.decode(entries) }(entries)
		chunks <- chunk
		entries = nil
	}
	err := d.ledger.Range(ctx, from, to, func(e broker.Entry) error {
		if entries = append(entries, e); len(entries) == refillChunk {
			flush()
		}
		return nil
	})
	if err == nil {
		flush()
	}
	return err
}

func (d *Dispatcher) decode(entries []broker.Entry) []index.Event {
	events := make([]index.Event, len(entries))
	for i, e := range entries {
		events[i] = d.event(e, nil)
	}
	return events
}

func (d *Dispatcher) fill(chunk []index.Event, to uint64) {
	now := d.clock()
	for i := range chunk {
		chunk[i].At = now
	}
	d.view.mu.Lock()
	effects := d.fold(d.view.order.Fill(chunk, to, now))
	d.view.slots.Applied(d.view.order.Applied())
	d.view.mu.Unlock()
	d.act(effects)
}

func (d *Dispatcher) applied() uint64 {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.order.Applied()
}

// troubled asks for a comparison with the ledger: what was heard may have holes.
func (d *Dispatcher) troubled() {
	select {
	case d.trouble <- struct{}{}:
	default:
	}
}

// onTrouble runs after a reconnect or a slow-consumer event, and while the ledger does not answer: the index is not current until
// compared, and agents, which may have been cut off as well, are not judged before one TTL. Results that were published shortly before a
// connection was lost may not have arrived, and are published again.
func (d *Dispatcher) onTrouble(t broker.Trouble) {
	if !t.Lost.IsZero() {
		d.tellSoon(d.ownSince(d.now().Add(-time.Since(t.Lost) - keepRecent)))
	}
	d.view.mu.Lock()
	d.view.current = false
	d.view.judging = d.clock().Add(d.cfg.HeartbeatTTL)
	d.view.mu.Unlock()
	d.troubled()
}

func (d *Dispatcher) setCurrent(current bool) {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	d.view.current = current
}

// isCurrent reports whether the index has caught up with the ledger, and hears what happens now: what a dispatcher that is cut off
// believes of others is not to be acted on.
func (d *Dispatcher) isCurrent() bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.current && d.conn.Connected()
}
