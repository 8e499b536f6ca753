package worker

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// What a station says of its inbox, in a pull, a heartbeat or a receipt.

// maxReceiptHops bounds the hops in one receipt.
const maxReceiptHops = 128 << 10

// free is how many tasks more the agent can take now: slots that nothing waits for.
func (b *inbox) free() (byCapability map[string]int, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	byCapability = make(map[string]int)
	if b.closed || b.draining || b.ill || b.unsent >= b.bounds.bytes {
		return byCapability, 0
	}
	for capability := range b.slots.most {
		byCapability[capability] = b.slots.free(capability)
	}
	for _, a := range b.waiting {
		byCapability[a.capability()]--
	}
	for capability, n := range byCapability {
		if n <= 0 {
			delete(byCapability, capability)
		}
	}
	total = max(0, b.slots.mostAll-b.slots.takenAll-len(b.waiting))
	return byCapability, total
}

// hungry reports whether there is a slot that nothing waits for.
func (b *inbox) hungry() bool {
	byCapability, total := b.free()
	return len(byCapability) > 0 && total > 0
}

// sequences are the fencing tokens of all that is held.
func (b *inbox) sequences() []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens()
}

func (b *inbox) tokens() []uint64 {
	tokens := make([]uint64, 0, b.count)
	for _, a := range b.all() {
		tokens = append(tokens, a.sequence)
	}
	slices.Sort(tokens)
	return tokens
}

// heartbeat fills in what the inbox knows: the state, what fills the slots, what waits, and what is held.
func (b *inbox) heartbeat(beat *schemas.Heartbeat) {
	b.mu.Lock()
	defer b.mu.Unlock()
	beat.State = schemas.AgentOnline
	if b.draining {
		beat.State = schemas.AgentDraining
	}
	beat.InFlight = b.slots.takenAll
	beat.Queued = len(b.waiting)
	beat.Held = b.tokens()
	for _, a := range b.all() {
		if a.step != waiting && a.step != releasing && len(beat.InFlightTasks) < schemas.MaxHeartbeatTasks {
			beat.InFlightTasks = append(beat.InFlightTasks, a.taskID())
		}
	}
	slices.Sort(beat.InFlightTasks)
}

// receipt lists what has been held for longer than after and was not listed yet, and what runs and was not listed for the
// interval, or for after where its agent has told of progress since. It says when there is more to list; 0 is when something is held
// that is not held now.
func (b *inbox) receipt(now time.Time, after, interval time.Duration) (list []schemas.ReceiptTask, again time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	hopBytes := 0
	for _, a := range b.oldestFirst() {
		due, ever := a.due(after, interval)
		if !ever {
			continue
		}
		if now.Before(due) || len(list) == schemas.MaxHeartbeatTasks || hopBytes > maxReceiptHops {
			again = sooner(again, due.Sub(now))
			continue
		}
		progress, hops := a.account.soFar()
		for _, hop := range hops {
			hopBytes += len(hop.Hop) + len(hop.By) + 64
		}
		list = append(list, schemas.ReceiptTask{
			TaskID: a.taskID(), Attempt: a.message.Attempt, Sequence: a.sequence, Running: a.step == running,
			Progress: progress, Hops: hops,
		})
		a.listed = now
		if next, ever := a.due(after, interval); ever {
			again = sooner(again, next.Sub(now))
		}
	}
	return list, again
}

func (b *inbox) oldestFirst() []*assignment {
	all := b.all()
	slices.SortFunc(all, func(a, o *assignment) int { return cmp.Compare(a.first, o.first) })
	return all
}

// due is when a receipt should name the assignment next; ever is false if it should not.
func (a *assignment) due(after, interval time.Duration) (due time.Time, ever bool) {
	if a.listed.IsZero() {
		return a.arrived.Add(after), true
	}
	if a.account.hasNews() {
		interval = min(after, interval)
	}
	return a.listed.Add(interval), a.step == running && !a.givenUp
}

// sooner is the shorter of two waits, at least a moment; 0 is none yet.
func sooner(again, wait time.Duration) time.Duration {
	wait = max(wait, time.Millisecond)
	if again == 0 {
		return wait
	}
	return min(again, wait)
}
