package mqttfront

import (
	"slices"
	"strings"
	"time"
)

// debts are the tasks whose end is owed to one device, as a value. Only so many ends are on their way unacknowledged at once; each is
// sent again until the device has acknowledged it, with growing waits, and at once when the device says that it is there.
type debts struct {
	first, most time.Duration // between two sendings
	window      int
	tasks       map[string]*debt
}

// debt is one task that is owed.
type debt struct {
	taskID string
	stream bool
	follow bool // somebody follows it to its end
	ended  bool
	sent   int
	next   time.Time // when it is sent next
}

func newDebts(first, most time.Duration, window int) *debts {
	return &debts{first: first, most: most, window: window, tasks: make(map[string]*debt)}
}

func (d *debts) add(taskID string, stream bool) *debt {
	one := d.tasks[taskID]
	if one == nil {
		one = &debt{taskID: taskID, stream: stream}
		d.tasks[taskID] = one
	}
	return one
}

// unfollowed are up to n tasks that have not ended and that nobody follows, the oldest first; they count as followed from then on.
func (d *debts) unfollowed(n int) []*debt {
	followed := 0
	var idle []*debt
	for _, one := range d.sorted() {
		switch {
		case one.ended:
		case one.follow:
			followed++
		default:
			idle = append(idle, one)
		}
	}
	idle = idle[:min(len(idle), max(0, n-followed))]
	for _, one := range idle {
		one.follow = true
	}
	return idle
}

// due are the ends to send now, and when to look again; zero is never.
func (d *debts) due(now time.Time) (send []*debt, again time.Time) {
	open := 0
	for _, one := range d.sorted() {
		if !one.ended {
			continue
		}
		if open++; open > d.window {
			break
		}
		if !now.Before(one.next) {
			one.next = now.Add(d.wait(one.sent))
			one.sent++
			send = append(send, one)
		}
		if again.IsZero() || one.next.Before(again) {
			again = one.next
		}
	}
	return send, again
}

// wait is how long an end waits after it was sent n times before.
func (d *debts) wait(n int) time.Duration {
	wait := d.first << min(n, 16)
	if wait <= 0 || wait > d.most {
		return d.most
	}
	return wait
}

// back is the device's word that it is there: all that is owed is due.
func (d *debts) back() {
	for _, one := range d.tasks {
		one.sent, one.next = 0, time.Time{}
	}
}

// sorted are the tasks in the order of their acceptance, which their ids tell.
func (d *debts) sorted() []*debt {
	all := make([]*debt, 0, len(d.tasks))
	for _, one := range d.tasks {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *debt) int { return strings.Compare(a.taskID, b.taskID) })
	return all
}
