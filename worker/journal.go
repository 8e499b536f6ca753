package worker

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/schemas"
)

// journalBounds say how much of the past a journal keeps: a day, within so many lines and bytes. What has no answer yet goes last.
type journalBounds struct {
	keep  time.Duration
	lines int
	bytes int64
}

var usualBounds = journalBounds{keep: 24 * time.Hour, lines: 1 << 16, bytes: 128 << 20}

// journal is what a worker knows of its attempts beyond its own life: that one with side effects has begun, how one has ended, and
// that a dispatcher has had the last word on it. It is a folder of volumes, files to which lines are added. A line is written before
// the worker goes on, so that it outlives the process; only the result of an attempt with side effects waits for the disk as well.
// Without a folder there is no journal: a nil one remembers nothing. Its methods may be called by any goroutine.
type journal struct {
	dir    string
	bounds journalBounds
	now    func() time.Time
	log    zerolog.Logger
	lock   *flock.Flock

	mu      sync.Mutex
	volumes []*volume // the last one is written to
	past    map[attemptKey]*past
	unsaid  []byte // lines that may wait for the next one: without them a result is repeated, and nothing is lost
	waiting int    // how many they are
	failing bool   // the last line was not written
}

// attemptKey names one attempt of one agent.
type attemptKey struct {
	agentID, taskID string
	attempt         int
}

// past is what is known of an attempt, and where it stands: its result or, as long as there is none, that it has begun.
type past struct {
	volume  *volume
	from    int64
	length  int
	at      time.Time
	expires time.Time // of its task; zero while there is no result
	notRun  bool      // the agent did nothing
	settled bool      // a dispatcher has had the last word
}

func (p *past) hasResult() bool { return !p.expires.IsZero() }

func newJournal(dir string, now func() time.Time, log zerolog.Logger) *journal {
	if dir == "" {
		return nil
	}
	return &journal{dir: dir, bounds: usualBounds, now: now, log: log, past: make(map[attemptKey]*past)}
}

// open takes the folder and reads it. It waits for a process that has the folder, as long as ctx lasts.
func (j *journal) open(ctx context.Context) (err error) {
	if j == nil {
		return nil
	}
	if j.lock, err = lockJournal(ctx, j.dir, j.log); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err = j.load(); err != nil {
		j.shut()
	}
	return err
}

// close gives the folder free.
func (j *journal) close() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _, _ = j.say(nil) // which tells the log
	j.shut()
}

func (j *journal) shut() {
	for _, v := range j.volumes {
		v.close()
	}
	j.volumes = nil
	_ = j.lock.Unlock()
}

// tidyEvery is how often an idle journal looks for what it need not keep any more.
const tidyEvery = time.Hour

// run forgets what is old until ctx ends.
func (j *journal) run(ctx context.Context) {
	for j != nil && sleep(ctx, tidyEvery) {
		j.mu.Lock()
		if err := j.tidy(); err != nil {
			j.log.Warn().Err(err).Str("journal", j.dir).Msg("the journal cannot be tidied")
		}
		j.mu.Unlock()
	}
}

// begin notes that an attempt with side effects is about to begin.
func (j *journal) begin(key attemptKey) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.line(kindBegun, key)
	j.note(&l)
}

// keep notes how an attempt has ended: body is what is sent to a dispatcher. With durable it returns once the disk has it.
func (j *journal) keep(r *schemas.Result, body []byte, expires time.Time, durable bool) {
	if j == nil {
		return
	}
	v, end := j.keepLine(r, body, expires)
	if !durable || v == nil {
		return
	}
	if err := v.flush(end); err != nil {
		j.log.Warn().Err(err).Str("task_id", r.TaskID).Msg("a result may not outlive a failure of this machine's power")
	}
}

func (j *journal) keepLine(r *schemas.Result, body []byte, expires time.Time) (v *volume, end int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.line(kindResult, attemptKey{r.AgentID, r.TaskID, r.Attempt})
	l.ExpiresAt, l.NotRun, l.Body = schemas.At(expires), r.Ran == schemas.RanNo, body
	if p := j.note(&l); p != nil {
		return p.volume, p.from + int64(p.length)
	}
	return nil, 0
}

// settle notes that a dispatcher has had the last word on an attempt.
func (j *journal) settle(key attemptKey) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.past[key]
	if p == nil || p.settled {
		return
	}
	p.settled = true
	l := j.line(kindSettled, key)
	j.unsaid, j.waiting = l.append(j.unsaid), j.waiting+1
	if len(j.unsaid) > maxUnsaid {
		_, _, _ = j.say(nil) // which tells the log
	}
}

// maxUnsaid bounds the lines that wait for the next one.
const maxUnsaid = 16 << 10

// recall is how an attempt has ended, if the agent did anything in it; a nil result that is known has begun, and no more is known.
func (j *journal) recall(key attemptKey) (result *schemas.Result, known bool) {
	if j == nil {
		return nil, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.past[key]
	if p == nil || p.notRun || j.old(p.at) {
		return nil, false
	}
	if !p.hasResult() {
		return nil, true
	}
	result = new(schemas.Result)
	if body := j.read(p); body == nil || schemas.Decode(body, result) != nil {
		return nil, false
	}
	return result, true
}

func (j *journal) old(at time.Time) bool { return j.now().Sub(at) > j.bounds.keep }

// read is a result as it was sent; nil if it cannot be read.
func (j *journal) read(p *past) []byte {
	var l line
	raw, err := p.volume.at(p.from, p.length)
	if err == nil {
		err = schemas.Decode(raw, &l)
	}
	if err != nil {
		j.log.Warn().Err(err).Str("journal", j.dir).Msg("a line of the journal cannot be read")
		return nil
	}
	return l.Body
}

// owed are the attempts of an agent whose results no dispatcher has answered, the oldest first.
func (j *journal) owed(agentID string) []attemptKey {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var keys []attemptKey
	for key, p := range j.past {
		if key.agentID == agentID && p.hasResult() && j.needed(p) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b attemptKey) int { return j.past[a].at.Compare(j.past[b].at) })
	return keys
}

// debt is a result that is owed, as it was sent, and until when it is wanted; nil if it is owed no more.
func (j *journal) debt(key attemptKey) (body []byte, expires time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.past[key]
	if p == nil || !p.hasResult() || !j.needed(p) {
		return nil, time.Time{}
	}
	return j.read(p), p.expires
}

func (j *journal) line(kind string, key attemptKey) line {
	return line{Kind: kind, AgentID: key.agentID, TaskID: key.taskID, Attempt: key.attempt, At: schemas.At(j.now())}
}

// note writes a line and remembers what it says; nil if it could not. The caller holds the lock.
func (j *journal) note(l *line) *past {
	from, length, err := j.say(l)
	if err != nil {
		return nil
	}
	return j.remember(l, j.current(), from, length)
}

// remember takes in what a line says; a result says more than a begin.
func (j *journal) remember(l *line, v *volume, from int64, length int) *past {
	key := attemptKey{l.AgentID, l.TaskID, l.Attempt}
	p := j.past[key]
	if p != nil && p.hasResult() && l.Kind == kindBegun {
		return p
	}
	if p == nil {
		p = new(past)
		j.past[key] = p
	}
	*p = past{volume: v, from: from, length: length, at: l.At.Time, expires: l.ExpiresAt.Time, notRun: l.NotRun}
	return p
}

// say writes the lines that wait and l, if there is one. A journal that cannot write holds nothing up: the log says so, once.
func (j *journal) say(l *line) (from int64, length int, err error) {
	if len(j.volumes) == 0 {
		return 0, 0, os.ErrClosed
	}
	raw, lines, waited := j.unsaid, j.waiting, len(j.unsaid)
	if l != nil {
		raw, lines = l.append(raw), lines+1
	}
	if len(raw) == 0 {
		return 0, 0, nil
	}
	from, err = j.write(raw, lines)
	if err != nil && !j.failing {
		j.log.Error().Err(err).Str("journal", j.dir).Msg("the journal cannot be written: a kill of this process may cost results")
	}
	j.failing, j.unsaid, j.waiting = err != nil, raw[:0], 0
	return from + int64(waited), len(raw) - waited, err
}

func (j *journal) write(raw []byte, lines int) (from int64, err error) {
	if err := j.tidy(); err != nil {
		return 0, err
	}
	return j.current().add(raw, lines, j.now())
}
