package dispatcher

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/metrics"
	"github.com/agentreach/agent-reach/dispatcher/route"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/dispatcher/timetable"
	"github.com/agentreach/agent-reach/schemas/dictionary"
)

// Dispatcher is one of any number of equals. It is a front.Service for every front of its process.
type Dispatcher struct {
	cfg        Config
	conn       *broker.Conn
	ledger     *broker.Ledger
	log        zerolog.Logger
	dictionary atomic.Pointer[dictionary.Dictionary]
	learning   sync.Mutex // of a word of the dictionary
	learned    learned
	routes     atomic.Pointer[route.Table]
	view       *view
	bodies     bodies
	large      large
	created    time.Time     // of the ledger that the index was read from
	skew       atomic.Int64  // the ledger's clock less ours, nanoseconds
	trouble    chan struct{} // asks for a comparison with the ledger
	toBind     chan string   // tasks of ours that have begun to wait
	rescueNow  chan struct{} // asks the rescue loop to look
	callNow    chan struct{} // asks the callback loop to look
	tellAgain  chan struct{} // asks the loop of results that may not have been told
	schedules  *timetable.Table
	binds      binds

	owedTold    atomic.Bool   // the log has it that callbacks are owed that cannot be made here
	foreignTold atomic.Bool   // the log has it that there are entries of a later release
	turn        atomic.Uint64 // of round robin
	metrics     *metrics.Metrics
	background  errgroup.Group
	ready       chan struct{}
}

var _ front.Service = (*Dispatcher)(nil)

// New prepares a dispatcher over a connection whose streams and buckets are set up. Nothing runs before Run.
func New(conn *broker.Conn, cfg Config) (*Dispatcher, error) {
	cfg = cfg.withDefaults(conn.MaxPayload())
	if err := cfg.check(conn.MaxPayload()); err != nil {
		return nil, err
	}
	d := &Dispatcher{
		cfg: cfg, conn: conn, ledger: conn.Ledger(), log: cfg.Logger.With().Str("dispatcher", cfg.ID).Logger(), view: newView(cfg),
		trouble: make(chan struct{}, 1), toBind: make(chan string, 4096), rescueNow: make(chan struct{}, 1),
		callNow: make(chan struct{}, 1), tellAgain: make(chan struct{}, 1), schedules: timetable.New(), learned: newLearned(), ready: make(chan struct{}),
	}
	d.metrics = metrics.New(d.scene)
	d.large = newLarge(conn, cfg)
	d.background.SetLimit(512)
	return d, nil
}

// Ready is closed once the dispatcher knows every open task and answers requests.
func (d *Dispatcher) Ready() <-chan struct{} { return d.ready }

// Peers are the dispatchers that are there, this one included, sorted.
func (d *Dispatcher) Peers() []string {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.peers
}

// ID is the dispatcher's name among its peers.
func (d *Dispatcher) ID() string { return d.cfg.ID }

// Run works until ctx ends; then it stops answering, finishes what it has begun to write, and returns nil. An error means that it
// could not start.
func (d *Dispatcher) Run(ctx context.Context) error {
	loops, ctx := errgroup.WithContext(ctx)
	undo, err := d.start(ctx)
	if err != nil {
		return fmt.Errorf("start dispatcher %s: %w", d.cfg.ID, err)
	}
	for _, loop := range []func(context.Context) error{
		d.keepUp, d.bindLoop, d.resendLoop, d.rescueLoop, d.sweepLoop, d.hedgeLoop, d.probeLoop,
		d.callbackLoop, d.meaningLoop, d.scheduleLoop, d.tellAgainLoop,
	} {
		loops.Go(func() error { return loop(ctx) })
	}
	close(d.ready)
	d.log.Info().Int("open_tasks", d.openTasks()).Msg("dispatcher ready")
	err = loops.Wait()
	undo()
	_ = d.background.Wait()
	return err
}

func (d *Dispatcher) openTasks() int {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	return d.view.tasks.Len()
}

// start reads what there is, listens, and only then takes part. What it returns undoes it in the opposite order.
func (d *Dispatcher) start(ctx context.Context) (undo func(), err error) {
	var closers closers
	defer func() {
		if err != nil {
			closers.close()
		}
	}()
	d.view.judging = d.clock().Add(d.cfg.HeartbeatTTL)
	closers.add(d.conn.OnTrouble(d.onTrouble))
	if err := d.watchDictionary(ctx); err != nil {
		return nil, err
	}
	if err := d.watchRoster(ctx); err != nil {
		return nil, err
	}
	if err := d.watchSchedules(ctx); err != nil {
		return nil, err
	}
	feed, err := d.ledger.Follow(d.hear)
	if err != nil {
		return nil, fmt.Errorf("follow the ledger: %w", err)
	}
	closers.add(feed.Close)
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	d.callRoll(ctx)
	if err := d.serveWorkers(&closers); err != nil {
		return nil, err
	}
	presence, err := d.conn.Presence(d.cfg.ID, d.cfg.PresenceBeat, d.cfg.PresenceTTL)
	if err != nil {
		return nil, fmt.Errorf("announce the dispatcher: %w", err)
	}
	presence.OnChange(d.peersChanged)
	closers.add(presence.Close)
	return closers.close, nil
}

// closers undoes steps in the opposite order.
type closers struct{ steps []func() }

func (c *closers) add(step func()) { c.steps = append(c.steps, step) }

func (c *closers) close() {
	for i := len(c.steps) - 1; i >= 0; i-- {
		c.steps[i]()
	}
	c.steps = nil
}

// clock is this process's time: for what was heard, never for what is written.
func (d *Dispatcher) clock() time.Time { return d.cfg.Now() }

// maxSkew is how far our clock may be off before the ledger's is used in its place: less is noise of the network.
const maxSkew = time.Second

// now is the time that is written into tasks and that their deadlines are judged by: the ledger's, so that all dispatchers agree
// however wrong their own clocks are.
func (d *Dispatcher) now() time.Time {
	if skew := time.Duration(d.skew.Load()); skew.Abs() > maxSkew {
		return d.clock().Add(skew)
	}
	return d.clock()
}

// judgement is how agents are judged at this moment; the caller holds the lock.
func (d *Dispatcher) judgement() judgement {
	return judgement{now: d.clock(), ttl: d.cfg.HeartbeatTTL, grace: d.cfg.DisconnectGrace, from: d.view.judging}
}

// owns reports whether a task is this dispatcher's to look after; the caller holds the lock.
func (d *Dispatcher) owns(taskID string) bool { return score.Owner(d.view.peers, taskID) == d.cfg.ID }

// peersChanged notes who else is there. The results of a peer that has gone, and what this dispatcher missed while it came, are
// published again rather than never.
func (d *Dispatcher) peersChanged(peers []string) {
	d.view.mu.Lock()
	before := d.view.peers
	d.view.peers = peers
	var mine []endedAt
	for _, e := range d.view.recent.ring {
		if score.Owner(before, e.taskID) != d.cfg.ID && d.owns(e.taskID) {
			mine = append(mine, e)
		}
	}
	d.view.mu.Unlock()
	d.log.Info().Strs("peers", peers).Int("results_again", len(mine)).Msg("dispatchers changed")
	d.tellSoon(mine) // whoever tells of peers waits for this, and sends no beat meanwhile
}

// backgroundLimit bounds one piece of background work.
const backgroundLimit = 30 * time.Second

// inBackground runs work that Run waits for at its end. It blocks while very much of it is under way, so only loops may call it, never the
// work itself, nor whoever folds.
func (d *Dispatcher) inBackground(work func(context.Context)) {
	d.background.Go(bounded(work))
}

// aside is inBackground for whoever may not wait: it reports false, and does nothing, where there is no room.
func (d *Dispatcher) aside(work func(context.Context)) bool {
	return d.background.TryGo(bounded(work))
}

func bounded(work func(context.Context)) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), backgroundLimit)
		defer cancel()
		work(ctx)
		return nil
	}
}

func newWriteID() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
