//go:build unix

package integration

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// idempotent are the capabilities that tests use and that may run again.
var idempotent = map[string]bool{"echo": true, "text_stats": true}

// proof holds together what the callers, the broker, the ledger and the agents say of the same tasks.
type proof struct {
	t       testing.TB
	h       *house
	witness *witness
	ways    []caller
	orders  []*order
	ended   map[string]*schemas.Task  // every task of the ledger, as it ended
	history map[string][]broker.Entry // its entries in order: those that the ledger has, and those that the witness has heard
	effects map[string]int            // its executions
}

// prove waits until every task has ended, and proves that each has done so once. It returns what there is to tell.
func (h *house) prove(w *witness, orders []*order) *proof {
	h.t.Helper()
	p := &proof{t: h.t, h: h, witness: w, ways: h.callers(), orders: orders, ended: make(map[string]*schemas.Task)}
	for _, o := range orders {
		if id := o.taskID(); id != "" {
			p.ended[id] = nil
		}
	}
	for again := true; again; again = p.awaitEnds() && !h.t.Failed() { // what nobody waited for any more may have been accepted meanwhile
		p.readLedger()
	}
	p.effects = effectsOf(readEffects(h.t, h.effects))
	p.everyOrderIsOneTask()
	p.everyTaskEndsOnce()
	p.everyReaderSeesTheSame()
	p.everyEffectIsAccountedFor()
	h.t.Log(p.summary())
	return p
}

// readLedger reads all that is there, and puts it together with what was heard.
func (p *proof) readLedger() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := broker.Connect(ctx, broker.Config{URL: p.h.url, Logger: zerolog.Nop()})
	check(p.t, err)
	defer conn.Close()
	state, err := conn.Ledger().State(ctx)
	check(p.t, err)
	all := p.witness.heard()
	check(p.t, conn.Ledger().Range(ctx, 1, state.Last, func(e broker.Entry) error {
		if heard, found := all[e.Sequence]; found && heard.Write != e.Write {
			p.t.Errorf("sequence %d was announced as %s and is %s", e.Sequence, heard.Subject(), e.Subject())
		}
		all[e.Sequence] = e
		return nil
	}))
	p.history = make(map[string][]broker.Entry)
	for _, sequence := range slices.Sorted(maps.Keys(all)) {
		e := all[sequence]
		p.history[e.TaskID] = append(p.history[e.TaskID], e)
	}
}

// awaitEnds waits for the end of all tasks that there are, whether or not anybody was told of them, and reports whether there were any
// whose end was not known.
func (p *proof) awaitEnds() (waited bool) {
	p.t.Helper()
	for id := range p.history {
		if _, known := p.ended[id]; !known {
			p.ended[id] = nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	for id, end := range p.ended {
		waited = waited || end == nil
		for end == nil {
			task, err := p.get(p.ways[0], id)
			if err != nil {
				p.t.Errorf("task %s was accepted and is not there: %v", id, err)
				delete(p.ended, id)
				break
			}
			if task.State.Terminal() {
				p.ended[id] = task
				break
			}
			if ctx.Err() != nil {
				p.t.Fatalf("task %s does not end; it is %s at %s, with the history %s", id, task.Phase, task.AgentID, p.story(id))
			}
			pause(ctx, 20*time.Millisecond)
		}
	}
	return waited
}

// get asks until it is answered.
func (p *proof) get(from caller, taskID string) (task *schemas.Task, err error) {
	p.t.Helper()
	brokertest.Eventually(p.t, "an answer about "+taskID, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), oneTry)
		defer cancel()
		task, err = from.get(ctx, taskID)
		return err == nil || !temporary(err)
	})
	return task, err
}

// everyOrderIsOneTask: what was ordered with a key was accepted, and is one task for all who asked; no task belongs to two orders,
// and no id was given out that is not in the ledger.
func (p *proof) everyOrderIsOneTask() {
	p.t.Helper()
	taken := make(map[string]*order)
	passed := make(map[string]bool) // keys of what was refused as too late, while a dispatcher that hung may have been about to write it
	unanswered := 0
	for _, o := range p.orders {
		switch {
		case len(o.tasks) > 1:
			p.t.Errorf("order %s became %d tasks: %v", o.key, len(o.tasks), slices.Collect(maps.Keys(o.tasks)))
		case o.passed():
			passed[o.key] = true
		case len(o.tasks) == 0 && o.key != "":
			p.t.Errorf("order %s was never accepted: %v", o.key, o.refused)
		case len(o.tasks) == 0:
			unanswered++
		}
		for id := range o.tasks {
			if other := taken[id]; other != nil {
				p.t.Errorf("the orders %q and %q are one task, %s", other.key, o.key, id)
			}
			taken[id] = o
			if len(p.history[id]) == 0 {
				p.t.Errorf("task %s of order %q is not in the ledger", id, o.key)
			}
		}
	}
	for id := range p.history {
		if taken[id] != nil || p.ended[id] == nil || passed[p.ended[id].MsgID] {
			continue
		}
		if key := p.ended[id].MsgID; key != id {
			p.t.Errorf("task %s is a second one of order %s: %s", id, key, p.story(id))
		}
		if unanswered--; unanswered < 0 {
			p.t.Errorf("nobody has ordered task %s: %s", id, p.story(id))
		}
	}
}

// everyTaskEndsOnce: the messages of a task are a chain, each written in the knowledge of the one before; exactly one of them ends
// it, and what comes after that changes nothing of the end.
func (p *proof) everyTaskEndsOnce() {
	p.t.Helper()
	for id, entries := range p.history {
		var end *schemas.Record
		for i, e := range entries {
			if i > 0 && !p.follows(entries[i-1], e) || i == 0 && e.Previous != 0 && p.witness.heardAll() {
				p.t.Errorf("task %s: %d follows %d: %s", id, e.Sequence, e.Previous, p.story(id))
			}
			if e.Phase != schemas.PhaseDone {
				if end != nil {
					p.t.Errorf("task %s goes on after its end: %s", id, p.story(id))
				}
				continue
			}
			record := new(schemas.Record)
			check(p.t, schemas.Decode(e.Body, record))
			if end != nil && (!record.Amended || lasting(&record.Task) != lasting(&end.Task)) {
				p.t.Errorf("task %s ended twice:\n%s\n%s", id, lasting(&end.Task), lasting(&record.Task))
			}
			end = cmp.Or(end, record)
		}
		if end == nil {
			p.t.Errorf("task %s has no end in the ledger: %s", id, p.story(id))
		}
	}
}

// follows reports whether one entry was written in the knowledge of another. Where messages may be missing between them, because
// the ledger keeps the last of each subject and the witness was deaf for a while, it must at least not be older.
func (p *proof) follows(before, e broker.Entry) bool {
	if e.Previous == before.Sequence {
		return true
	}
	return !p.witness.heardAll() && e.Previous > before.Sequence
}

// lasting is what never changes of a task that has ended. What may be added to its record later is left out.
func lasting(t *schemas.Task) string {
	fixed := *t
	fixed.Revision, fixed.RetriedAs, fixed.LateResult, fixed.DeadLetter, fixed.Cancel, fixed.Callback = 0, "", nil, false, nil, nil
	return string(schemas.MustEncode(&fixed))
}

// everyReaderSeesTheSame: each front answers with the record that the ledger has, and so did the result subject; nobody who
// listened all the time has missed it.
func (p *proof) everyReaderSeesTheSame() {
	p.t.Helper()
	for id, task := range p.ended {
		want := lasting(task)
		for _, way := range p.ways[1:] {
			got, err := p.get(way, id)
			if err != nil {
				p.t.Errorf("task %s is not to be had everywhere: %v", id, err)
			} else if lasting(got) != want {
				p.t.Errorf("task %s is\n%s\nand also\n%s", id, want, lasting(got))
			}
		}
		if p.witness.heardAll() {
			p.witness.result(id)
		}
		for _, result := range p.witness.of(id) {
			if lasting(result) != want {
				p.t.Errorf("task %s is\n%s\nand was published as\n%s", id, want, lasting(result))
			}
		}
	}
}

// everyEffectIsAccountedFor: what must not be repeated was executed once at most, what is completed once at least, and nothing that
// nobody ordered.
func (p *proof) everyEffectIsAccountedFor() {
	p.t.Helper()
	for id, task := range p.ended {
		switch n := p.effects[id]; {
		case n > 1 && !idempotent[task.Capability]:
			p.t.Errorf("%s task %s was executed %d times: %s", task.Capability, id, n, p.story(id))
		case n == 0 && task.State == schemas.StateCompleted:
			p.t.Errorf("task %s is completed and was never executed: %s", id, p.story(id))
		}
	}
	for id := range p.effects {
		if p.ended[id] == nil {
			p.t.Errorf("an agent has executed %s, which is no task", id)
		}
	}
}

// story is a task's history in short.
func (p *proof) story(id string) string {
	var steps []string
	for _, e := range p.history[id] {
		steps = append(steps, strings.Join([]string{string(e.Phase), e.Agent, number(e.Previous) + "→" + number(e.Sequence)}, " "))
	}
	return strings.Join(steps, ", ")
}

// again proves that nothing has changed since, and that keys still mean the same tasks. An agent may have come late to a request
// that its worker had sent before it died; what must not be repeated is still executed once at most.
func (p *proof) again() {
	p.t.Helper()
	for id, task := range p.ended {
		if later, err := p.get(p.ways[0], id); err != nil || lasting(later) != lasting(task) {
			p.t.Errorf("task %s was\n%s\nand is now\n%v (%v)", id, lasting(task), later, err)
		}
	}
	for _, o := range p.orders {
		if o.key != "" && !o.passed() {
			p.repeat(o)
		}
	}
	p.effects = effectsOf(readEffects(p.t, p.h.effects))
	p.everyEffectIsAccountedFor()
}

// repeat places an order again.
func (p *proof) repeat(o *order) {
	p.t.Helper()
	brokertest.Eventually(p.t, "an answer to the repeat of "+o.key, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), oneTry)
		defer cancel()
		task, err := p.ways[len(o.key)%len(p.ways)].submit(ctx, o.message)
		if err != nil {
			var refused *schemas.Error
			if errors.As(err, &refused) && !refused.Retryable {
				p.t.Errorf("the repeat of %s is refused: %v", o.key, err)
				return true
			}
			return false
		}
		if !o.tasks[task.TaskID] || !task.State.Terminal() {
			p.t.Errorf("the repeat of %s is task %s, %s, and not %s", o.key, task.TaskID, task.State, o.taskID())
		}
		return true
	})
}

// summary counts.
func (p *proof) summary() string {
	states, executions := make(map[string]int), 0
	for id, task := range p.ended {
		state := string(task.State)
		if task.Error != nil {
			state += " " + string(task.Error.Code) + " " + task.Error.Reason
		}
		states[state]++
		executions += p.effects[id]
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		parts = append(parts, number(states[state])+" "+state)
	}
	return number(len(p.orders)) + " orders, " + number(len(p.ended)) + " tasks (" + strings.Join(parts, ", ") + "), " +
		number(executions) + " executions"
}

func number[N int | uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }
