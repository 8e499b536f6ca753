package broker

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// ChunkWriters are the streams of the tasks that one agent runs, and of those that it has just ended. One subscription hears the
// credit for all of them. Its own goroutine lets go of streams that have ended; all its methods may be called from any goroutine.
type ChunkWriters struct {
	conn    *Conn
	agent   string
	credits *Subscription
	deafen  func()
	trouble chan struct{}
	stop    chan struct{}
	stopped sync.WaitGroup

	mu        sync.Mutex
	byTask    map[string]*ChunkWriter // the newest attempt of each
	lingering []*ChunkWriter          // in the order in which they ended
	early     earlyCredits
	closed    bool
}

// WriteChunks begins to hear the readers of an agent's streams.
func (c *Conn) WriteChunks(agentID string) (*ChunkWriters, error) {
	if agentID == Any {
		return nil, errBadSubject()
	}
	w := &ChunkWriters{
		conn: c, agent: agentID, trouble: make(chan struct{}, 1), stop: make(chan struct{}),
		byTask: make(map[string]*ChunkWriter), early: make(earlyCredits),
	}
	credits, err := c.Subscribe(SubjectCredit(agentID, Any), w.hear)
	if err != nil {
		return nil, fmt.Errorf("hear the readers of %s: %w", agentID, err)
	}
	w.credits = credits
	w.deafen = c.OnTrouble(func(Trouble) { ring(w.trouble) })
	w.stopped.Go(w.keepHouse)
	return w, nil
}

// Open begins the stream of a task's attempt. What its readers have said already counts.
func (w *ChunkWriters) Open(m *schemas.ReachMessage) *ChunkWriter {
	one := newChunkWriter(w, m)
	w.mu.Lock()
	older := w.byTask[m.TaskID]
	early := w.early.take(m.TaskID)
	if w.closed {
		one.close()
	} else {
		w.byTask[m.TaskID] = one
	}
	w.mu.Unlock()
	if older != nil {
		older.close()
	}
	one.begin(early)
	return one
}

// hear brings the credit of a reader to the stream it is for.
func (w *ChunkWriters) hear(subject string, body []byte) {
	var credit schemas.Credit
	if schemas.Accept(body, &credit) != nil {
		return
	}
	task := taskOf(subject)
	w.mu.Lock()
	one := w.byTask[task]
	if one == nil && !w.closed {
		w.early.keep(task, credit, time.Now())
	}
	w.mu.Unlock()
	if one != nil {
		one.credit(credit)
	}
}

// linger keeps a stream that has ended for its readers, within bounds.
func (w *ChunkWriters) linger(one *ChunkWriter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.byTask[one.taskID] != one {
		return
	}
	w.lingering = append(w.lingering, one)
	bytes := 0
	for i, kept := range slices.Backward(w.lingering) {
		bytes += kept.kept
		if len(w.lingering)-i > maxLingering || bytes > maxLingeringBytes {
			w.drop(w.lingering[:i+1])
			w.lingering = slices.Delete(w.lingering, 0, i+1)
			break
		}
	}
}

// drop forgets streams; the caller holds the lock.
func (w *ChunkWriters) drop(all []*ChunkWriter) {
	for _, one := range all {
		if w.byTask[one.taskID] == one {
			delete(w.byTask, one.taskID)
		}
		one.close()
	}
}

// forget drops a stream that nobody needs any more.
func (w *ChunkWriters) forget(one *ChunkWriter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop([]*ChunkWriter{one})
}

// keepHouse lets go of what is no longer needed, and sends again what an outage may have swallowed.
func (w *ChunkWriters) keepHouse() {
	tick := time.NewTicker(w.conn.cfg.Chunks.Beat)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-w.trouble:
			for _, one := range w.all() {
				one.lost()
			}
		case now := <-tick.C:
			w.sweep(now)
		}
	}
}

func (w *ChunkWriters) sweep(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.early.expire(now.Add(-w.conn.cfg.Chunks.Limits.Silence))
	w.lingering = slices.DeleteFunc(w.lingering, func(one *ChunkWriter) bool {
		done := !now.Before(one.until())
		if done {
			w.drop([]*ChunkWriter{one})
		}
		return done
	})
}

func (w *ChunkWriters) all() []*ChunkWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*ChunkWriter, 0, len(w.byTask))
	for _, one := range w.byTask {
		all = append(all, one)
	}
	return all
}

// Close ends all streams: a Write that waits fails with ErrStreamEnded.
func (w *ChunkWriters) Close() {
	w.mu.Lock()
	was := w.closed
	w.closed = true
	w.mu.Unlock()
	if was {
		return
	}
	w.deafen()
	w.credits.Close()
	close(w.stop)
	w.stopped.Wait()
	for _, one := range w.all() {
		one.close()
	}
}

// maxEarly bounds the readers that are remembered before their stream begins.
const maxEarly = 4096

// earlyCredits are what readers said of streams that had not begun: by task, then by reader.
type earlyCredits map[string]map[string]earlyCredit

type earlyCredit struct {
	schemas.Credit
	at time.Time
}

func (e earlyCredits) keep(task string, c schemas.Credit, now time.Time) {
	if c.Leave {
		delete(e[task], c.Reader)
		return
	}
	if len(e) >= maxEarly && e[task] == nil || len(e[task]) >= maxEarly/16 {
		return
	}
	if e[task] == nil {
		e[task] = make(map[string]earlyCredit)
	}
	if asked := e[task][c.Reader].Resume; c.Resume == 0 && asked > c.Ack {
		c.Resume = asked // nothing has been sent since: it still wants what it asked for
	}
	e[task][c.Reader] = earlyCredit{c, now}
}

func (e earlyCredits) take(task string) map[string]earlyCredit {
	credits := e[task]
	delete(e, task)
	return credits
}

func (e earlyCredits) expire(before time.Time) {
	for task, credits := range e {
		for reader, c := range credits {
			if c.at.Before(before) {
				delete(credits, reader)
			}
		}
		if len(credits) == 0 {
			delete(e, task)
		}
	}
}
