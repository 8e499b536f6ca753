package index

import (
	"container/list"
	"time"
)

// level is what waits at one priority.
type level struct {
	tried   line // tasks that were tried before, of all tenants
	tenants map[string]*line
	turns   list.List // of *line: the tenants that have tasks, the next one first
}

// line is tasks by age.
type line struct {
	tasks list.List
	turn  *list.Element // the tenant's place in the level's turns
}

func (l *level) empty() bool { return l.tried.tasks.Len() == 0 && l.turns.Len() == 0 }

func (l *level) add(t *Task) {
	if t.tried() {
		l.tried.add(t)
		return
	}
	tenant := l.tenants[t.Tenant()]
	if tenant == nil {
		if l.tenants == nil {
			l.tenants = make(map[string]*line)
		}
		tenant = new(line)
		tenant.turn = l.turns.PushBack(tenant)
		l.tenants[t.Tenant()] = tenant
	}
	tenant.add(t)
}

func (l *level) remove(t *Task) {
	if t.tried() {
		l.tried.remove(t)
		return
	}
	tenant := l.tenants[t.Tenant()]
	if tenant.remove(t); tenant.tasks.Len() == 0 {
		l.turns.Remove(tenant.turn)
		delete(l.tenants, t.Tenant())
	}
}

// served sends a tenant behind the others.
func (l *level) served(tenant string) {
	if line := l.tenants[tenant]; line != nil {
		l.turns.MoveToBack(line.turn)
	}
}

func (l *level) oldest() time.Time {
	oldest := l.tried.oldest()
	for e := l.turns.Front(); e != nil; e = e.Next() {
		oldest = earlier(oldest, e.Value.(*line).oldest())
	}
	return oldest
}

// add puts a task where its age says. That is nearly always at the end, and for what comes back to the queue near the beginning:
// so both are looked at in turn.
func (l *line) add(t *Task) {
	front, back := l.tasks.Front(), l.tasks.Back()
	for front != nil {
		if !olderThan(front, t) {
			t.waiting = l.tasks.InsertBefore(t, front)
			return
		}
		if olderThan(back, t) {
			t.waiting = l.tasks.InsertAfter(t, back)
			return
		}
		front, back = front.Next(), back.Prev()
	}
	t.waiting = l.tasks.PushBack(t)
}

func (l *line) remove(t *Task) {
	l.tasks.Remove(t.waiting)
	t.waiting = nil
}

func (l *line) oldest() time.Time {
	if front := l.tasks.Front(); front != nil {
		return front.Value.(*Task).age()
	}
	return time.Time{}
}

// olderThan reports whether a waiting task is older than another; of the same age, the one whose id is lower is.
func olderThan(e *list.Element, t *Task) bool {
	waits := e.Value.(*Task)
	if a, b := waits.age(), t.age(); !a.Equal(b) {
		return a.Before(b)
	}
	return waits.ID < t.ID
}

// cursor is a way through a level that leaves it as it is.
type cursor struct {
	tried *list.Element   // the next of those that were tried before
	turns *list.Element   // the next tenant whose first task has not come yet
	later []*list.Element // the next tasks of the tenants whose first has, from at on
	at    int
}

func (l *level) cursor() cursor {
	return cursor{tried: l.tried.tasks.Front(), turns: l.turns.Front()}
}

func (c *cursor) empty() bool { return c.tried == nil && c.turns == nil && c.at == len(c.later) }

// next is the next task of a level that is not at its end.
func (c *cursor) next() *Task {
	if c.tried != nil {
		t := c.tried.Value.(*Task)
		c.tried = c.tried.Next()
		return t
	}
	e := c.nextTenant()
	if after := e.Next(); after != nil {
		c.later = append(c.later, after)
	}
	return e.Value.(*Task)
}

func (c *cursor) nextTenant() *list.Element {
	if c.turns != nil {
		e := c.turns.Value.(*line).tasks.Front()
		c.turns = c.turns.Next()
		return e
	}
	e := c.later[c.at]
	if c.at++; c.at == len(c.later) {
		c.later, c.at = c.later[:0], 0
	}
	return e
}
