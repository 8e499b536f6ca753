package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/schemas"
)

const (
	journalLock    = "journal.lock"
	lockAgainAfter = 100 * time.Millisecond
)

// lockJournal creates the folder if need be and takes it, as soon as no other process has it. The kernel gives it free when a process
// dies, however it dies.
func lockJournal(ctx context.Context, dir string, log zerolog.Logger) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	lock := flock.New(filepath.Join(dir, journalLock), flock.SetPermissions(0o600))
	taken, err := lock.TryLock()
	if err == nil && !taken {
		log.Warn().Str("journal", dir).Msg("another process has the journal; waiting until it has gone")
		_, err = lock.TryLockContext(ctx, lockAgainAfter)
	}
	if err != nil {
		return nil, fmt.Errorf("lock journal %s: %w", dir, err)
	}
	return lock, nil
}

// load reads the volumes that are there; the caller holds the lock.
func (j *journal) load() error {
	numbers, err := volumesIn(j.dir)
	if err != nil {
		return err
	}
	if len(numbers) == 0 {
		numbers = []int{1}
	}
	for _, number := range numbers {
		if err := j.turn(number); err != nil {
			return err
		}
		v := j.current()
		if err := v.read(func(from int64, raw []byte) time.Time { return j.take(v, from, raw) }); err != nil {
			return err
		}
	}
	return j.tidy()
}

// take takes in a line that an earlier process has written. One that makes no sense, after a failure of the machine, is passed over.
func (j *journal) take(v *volume, from int64, raw []byte) time.Time {
	var l line
	if err := schemas.Decode(raw, &l); err != nil {
		j.log.Warn().Str("journal", v.path).Int64("at", from).Msg("a line of the journal makes no sense")
		return v.last
	}
	switch l.Kind {
	case kindBegun, kindResult:
		j.remember(&l, v, from, len(raw))
	case kindSettled:
		if p := j.past[attemptKey{l.AgentID, l.TaskID, l.Attempt}]; p != nil {
			p.settled = true
		}
	}
	return l.At.Time
}

func (j *journal) current() *volume { return j.volumes[len(j.volumes)-1] }

// turn begins a volume, or goes on with one.
func (j *journal) turn(number int) error {
	v, err := openVolume(j.dir, number)
	if err == nil {
		j.volumes = append(j.volumes, v)
	}
	return err
}

// tidy begins a new volume when the last one has no room, and drops what is older than the one before it or has nothing of the last
// day. The caller holds the lock.
func (j *journal) tidy() error {
	if current := j.current(); !current.hasRoom(j.bounds.share(), j.now()) {
		if err := errors.Join(current.flush(current.size.Load()), j.turn(current.number+1)); err != nil {
			return err
		}
	}
	for len(j.volumes) > 2 || len(j.volumes) == 2 && j.old(j.volumes[0].last) {
		if err := j.drop(j.volumes[0]); err != nil {
			return err
		}
	}
	return nil
}

// drop removes the oldest volume; what is still needed of it is written again. If the process dies meanwhile, both copies say the
// same.
func (j *journal) drop(v *volume) error {
	needed := j.forget(v)
	for _, p := range needed {
		if err := j.carry(p); err != nil {
			return err
		}
	}
	current := j.current()
	if err := errors.Join(current.flush(current.size.Load()), v.remove()); err != nil {
		return err
	}
	j.volumes = j.volumes[1:]
	return nil
}

// forget forgets the attempts whose lines are in a volume, but those that are still needed: as many of the newest as leave room for
// more. It returns these, the oldest first.
func (j *journal) forget(v *volume) []*past {
	var needed []*past
	keys := make(map[*past]attemptKey)
	for key, p := range j.past {
		if p.volume != v {
			continue
		}
		if keys[p] = key; j.needed(p) {
			needed = append(needed, p)
			continue
		}
		delete(j.past, key)
	}
	slices.SortFunc(needed, func(p, q *past) int { return cmp.Or(q.at.Compare(p.at), cmp.Compare(q.from, p.from)) })
	n := j.bounds.share().fitting(needed)
	for _, p := range needed[n:] {
		delete(j.past, keys[p])
	}
	if lost := len(needed) - n; lost > 0 {
		j.log.Warn().Int("lost", lost).Str("journal", j.dir).Msg("the journal has no room for all results that wait for a dispatcher")
	}
	slices.Reverse(needed[:n])
	return needed[:n]
}

// needed reports whether an attempt must stay known: nobody has had the last word on it.
func (j *journal) needed(p *past) bool {
	return !p.settled && !j.old(p.at) && (!p.hasResult() || p.expires.After(j.now()))
}

// fitting is how many of a list take half of the room at most.
func (b journalBounds) fitting(list []*past) int {
	bytes := int64(0)
	for i, p := range list {
		if bytes += int64(p.length); i >= b.lines/2 || bytes > b.bytes/2 {
			return i
		}
	}
	return len(list)
}

// carry writes a line of an older volume again.
func (j *journal) carry(p *past) error {
	raw, err := p.volume.at(p.from, p.length)
	if err != nil {
		return err
	}
	v := j.current()
	from, err := v.add(raw, 1, j.now())
	if err != nil {
		return err
	}
	p.volume, p.from = v, from
	return nil
}

// share is what one volume may have: there are two, and the older one goes when the newer is full.
func (b journalBounds) share() journalBounds {
	return journalBounds{keep: b.keep, lines: max(1, b.lines/2), bytes: max(1, b.bytes/2)}
}
