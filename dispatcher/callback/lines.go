package callback

import (
	"cmp"
	"container/heap"
	"time"
)

// Owed is a callback that is to be made, at the earliest at At.
type Owed struct {
	TaskID   string
	Sequence uint64 // of the record that says so: a later one takes its place
	Receiver string // whose turn it takes
	At       time.Time
}

// Limits of the calls that are under way at once.
type Limits struct {
	Total       int // 256
	PerReceiver int // 8
}

// lookAgain is how long another dispatcher's callback is left alone before it is looked at again.
const lookAgain = time.Second

// Lines are the callbacks that are owed: those whose time has not come, and behind each receiver a line of those whose time has.
//
// A receiver that has not shown that it answers gets one call at a time. Each good answer lets one more in, up to the limit, and a bad one
// takes it back to one. Receivers that have not answered well lately have half of all places at most, however many they are: there is
// always room for the others.
type Lines struct {
	limits   Limits
	owed     map[string]*entry
	later    laterHeap
	lines    map[string]*line
	turns    []*line // those behind which somebody waits, the next first
	busy     int
	unproven int // of the busy ones, how many were with receivers that had not answered well
}

// entry is one callback, wherever it waits.
type entry struct {
	Owed
	look    time.Time // while it is in the heap
	started bool      // a call is under way, or its end has not been told
	waiting bool      // it stands in its receiver's line
}

// line is one receiver: who waits for it, and what it has shown.
type line struct {
	name    string
	waiting []*entry // in the order in which their times came; some of them may mean nothing any more
	inTurns bool
	owed    int // callbacks that name it
	busy    int
	most    int // at once
	proven  bool
}

// New is empty lines.
func New(limits Limits) *Lines {
	limits.Total = cmp.Or(limits.Total, 256)
	limits.PerReceiver = cmp.Or(limits.PerReceiver, 8)
	return &Lines{limits: limits, owed: make(map[string]*entry), lines: make(map[string]*line)}
}

// Len is how many callbacks are owed.
func (l *Lines) Len() int { return len(l.owed) }

// Busy is how many calls are under way.
func (l *Lines) Busy() int { return l.busy }

// Put notes a callback that is owed; one of a later record takes the place of one before it.
func (l *Lines) Put(o Owed) {
	e := &entry{Owed: o, look: o.At}
	if old := l.owed[o.TaskID]; old != nil {
		if old.Sequence > o.Sequence {
			return
		}
		e.started = old.started
		l.remove(old)
	}
	l.owed[o.TaskID] = e
	l.line(o.Receiver).owed++
	if !e.started {
		heap.Push(&l.later, e)
	}
}

// Drop forgets a task's callback, if it is of no later record than sequence: it was made, or will not be.
func (l *Lines) Drop(taskID string, sequence uint64) {
	if e := l.owed[taskID]; e != nil && e.Sequence <= sequence {
		l.remove(e)
	}
}

// Clear forgets all that is owed. Calls that are under way still have to be told as Done.
func (l *Lines) Clear() {
	for _, e := range l.owed {
		l.remove(e)
	}
	l.later = nil
}

func (l *Lines) remove(e *entry) {
	delete(l.owed, e.TaskID)
	e.waiting = false
	line := l.lines[e.Receiver]
	line.owed--
	l.forget(line)
	l.compact()
}

// compact sweeps out of the heap what means nothing any more, once that is more than what does.
func (l *Lines) compact() {
	if len(l.later) < 2*len(l.owed)+1024 {
		return
	}
	kept := make(laterHeap, 0, len(l.owed))
	for _, e := range l.later {
		if l.owed[e.TaskID] == e {
			kept = append(kept, e)
		}
	}
	l.later = kept
	heap.Init(&l.later)
}

func (l *Lines) line(receiver string) *line {
	found := l.lines[receiver]
	if found == nil {
		found = &line{name: receiver, most: 1}
		l.lines[receiver] = found
	}
	return found
}

// forget lets go of a receiver that nobody is interested in any more.
func (l *Lines) forget(line *line) {
	if line.owed == 0 && line.busy == 0 && !line.inTurns {
		delete(l.lines, line.name)
	}
}

// Start gives the callbacks that are to be made now, of those that are this dispatcher's own. Each must be told as Done.
func (l *Lines) Start(now time.Time, mine func(taskID string) bool) []Owed {
	l.arrive(now)
	var started []Owed
	for idle := 0; idle < len(l.turns) && l.busy < l.limits.Total; {
		line := l.turns[0]
		l.turns = l.turns[1:]
		e := l.next(line, now, mine)
		if e != nil {
			l.start(line, e)
			started = append(started, e.Owed)
			idle = 0
		} else {
			idle++
		}
		if line.inTurns = len(line.waiting) > 0; line.inTurns {
			l.turns = append(l.turns, line)
		} else {
			idle = max(0, idle-1)
			l.forget(line)
		}
	}
	return started
}

// arrive lets those stand in line whose time has come.
func (l *Lines) arrive(now time.Time) {
	for len(l.later) > 0 && !l.later[0].look.After(now) {
		e := heap.Pop(&l.later).(*entry)
		if l.owed[e.TaskID] != e {
			continue
		}
		line := l.lines[e.Receiver]
		e.waiting = true
		line.waiting = append(line.waiting, e)
		if !line.inTurns {
			line.inTurns = true
			l.turns = append(l.turns, line)
		}
	}
}

// next is the first in line that may be called now; nil if there is none. Others' are sent away for a while.
func (l *Lines) next(line *line, now time.Time, mine func(string) bool) *entry {
	for len(line.waiting) > 0 {
		e := line.waiting[0]
		if e.waiting && mine(e.TaskID) {
			if !l.hasRoom(line) {
				return nil
			}
			line.waiting = line.waiting[1:]
			return e
		}
		line.waiting = line.waiting[1:]
		if e.waiting {
			e.waiting, e.look = false, now.Add(lookAgain)
			heap.Push(&l.later, e)
		}
	}
	return nil
}

func (l *Lines) hasRoom(line *line) bool {
	return line.busy < line.most && (line.proven || l.unproven < max(1, l.limits.Total/2))
}

func (l *Lines) start(line *line, e *entry) {
	e.waiting, e.started = false, true
	line.busy++
	l.busy++
	if !line.proven {
		l.unproven++
	}
}

// Done says how a call went that Start gave out. A callback that is still owed as it was is owed again at again; one whose record has
// changed meanwhile, at its own time.
func (l *Lines) Done(o Owed, answered bool, again time.Time) {
	line := l.lines[o.Receiver]
	line.busy--
	l.busy--
	l.judge(line, answered)
	if e := l.owed[o.TaskID]; e != nil && e.started {
		e.started = false
		if e.Sequence == o.Sequence {
			e.look = again
		}
		heap.Push(&l.later, e)
	}
	l.forget(line)
}

// judge is what a receiver's answer says of it. Calls under way are counted as its standing is now.
func (l *Lines) judge(line *line, answered bool) {
	if !line.proven {
		l.unproven--
	}
	switch {
	case answered && !line.proven:
		l.unproven -= line.busy
	case !answered && line.proven:
		l.unproven += line.busy
	}
	line.proven = answered
	if answered {
		line.most = min(line.most+1, l.limits.PerReceiver)
	} else {
		line.most = 1
	}
}

type laterHeap []*entry

func (h laterHeap) Len() int           { return len(h) }
func (h laterHeap) Less(i, j int) bool { return h[i].look.Before(h[j].look) }
func (h laterHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *laterHeap) Push(x any)        { *h = append(*h, x.(*entry)) }

func (h *laterHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
