package desk

import (
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// An agent may say that it holds whatever it likes: one request looks up so many of that, and the next one more.
func TestWhatOthersHaveHandedOutIsTakenInAFewAtATime(t *testing.T) {
	t.Parallel()
	p, assigned := bench(t)
	const all = mostTakenIn + 5
	var held []uint64
	for range all {
		e := assigned
		var m schemas.ReachMessage
		if err := schemas.Decode(e.Body, &m); err != nil {
			t.Fatal(err)
		}
		m.TaskID = schemas.NewTaskID()
		e.TaskID, e.Body, e.TTL = m.TaskID, schemas.MustEncode(&m), time.Hour
		stored, err := p.desk.conn.Ledger().Write(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, stored.Sequence)
	}
	for _, want := range []int{mostTakenIn, all, all} {
		p.takeIn(t.Context(), held)
		if got := len(p.jobs); got != want {
			t.Errorf("%d of %d are taken in, want %d", got, all, want)
		}
	}
}

// bench is a place with one assignment in it, and nobody around.
func bench(t *testing.T) (p *place, assigned broker.Entry) {
	t.Helper()
	d, err := New(Config{Conn: brokertest.New(t).Conn(t)})
	if err != nil {
		t.Fatal(err)
	}
	r := &schemas.Registration{AgentID: "phone", InstanceID: "one", Capabilities: []schemas.Offer{{ID: "test_run"}}}
	message := schemas.ReachMessage{
		TaskID: schemas.NewTaskID(), Capability: "test_run", Attempt: 1, Payload: schemas.Payload(`{}`),
		Assignment: &schemas.Assignment{AgentID: "phone", RunTimeoutMS: 100},
	}
	assigned = broker.Entry{
		TaskID: message.TaskID, Phase: schemas.PhaseAssigned, Capability: "test_run", Agent: "phone", Sequence: 7, Body: schemas.MustEncode(&message),
	}
	p = d.newPlace(r)
	p.arrive(assigned)
	return p, assigned
}

func (p *place) picksOne(t *testing.T) *picked {
	t.Helper()
	chosen, err := p.pick(&schemas.Claim{})
	if err != nil || len(chosen) != 1 {
		t.Fatalf("picked %d, %v", len(chosen), err)
	}
	return &chosen[0]
}

// A begin may take long: while the broker is away, longer than the task may run.
func TestARunLimitCountsFromTheHandOver(t *testing.T) {
	t.Parallel()
	p, _ := bench(t)
	one := p.picksOne(t)
	if over := p.overdue(time.Now().Add(time.Hour)); len(over) != 0 || one.job.stop != nil {
		t.Errorf("what nobody was given yet is overdue: %d, %+v", len(over), one.job.stop)
	}
	p.handOver("", []*picked{one})
	if over := p.overdue(time.Now().Add(time.Hour)); len(over) != 1 {
		t.Errorf("%d are overdue, want 1", len(over))
	}
}

func TestWhatIsPutBackWakesTheClaimsThatWait(t *testing.T) {
	t.Parallel()
	p, _ := bench(t)
	one := p.picksOne(t)
	one.job.token = 8 // it was begun
	changed, looks := p.watch()
	p.putBack([]*picked{one})
	select {
	case <-changed:
	default:
		t.Error("nobody is told")
	}
	if _, now := p.watch(); now == looks {
		t.Error("nobody is to ask for more")
	}
	if again := p.picksOne(t); again.begun != 8 {
		t.Errorf("it waits with the token %d, want 8", again.begun)
	}
}

// While a claim begins a task, another one of the same process may be told that it is begun.
func TestWhatIsBeingBegunIsNotTakenForLost(t *testing.T) {
	t.Parallel()
	p, assigned := bench(t)
	begun := schemas.Token{TaskID: assigned.TaskID, Sequence: 8}
	if !p.handed(begun) {
		t.Error("an arrival is taken for lost")
	}
	one := p.picksOne(t)
	if !p.handed(begun) {
		t.Error("what is being begun is taken for lost")
	}
	p.unpick(one, false)
	if p.handed(begun) {
		t.Error("what is not here is taken for handed out")
	}
}

// Several requests may find out at once that another desk has handed a task out.
func TestATaskOfAnotherDeskIsTakenInOnce(t *testing.T) {
	t.Parallel()
	p, assigned := bench(t)
	first, err := p.adopt(assigned)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := p.adopt(assigned); err != nil || second != first {
		t.Errorf("it was taken in twice (%v)", err)
	}
	begun := assigned
	begun.Sequence, begun.Phase = 9, schemas.PhaseBegun
	if next, err := p.adopt(begun); err != nil || next == first || !first.isLeft {
		t.Errorf("a newer one did not take its place (%v)", err)
	}
}

// That a task is canceled comes to an agent as a word, unless a pull of its own was faster; it may have let the task go by then.
func TestACancelIsConfirmedWhicheverWayTheAgentHasHeardOfIt(t *testing.T) {
	t.Parallel()
	canceled := func(sequence uint64) schemas.Control {
		return schemas.Control{Do: schemas.DoCancel, Sequence: sequence, Reason: schemas.ReasonCanceled}
	}
	tests := []struct {
		name      string
		before    func(p *place, taskID string)
		word      schemas.Control
		confirmed bool
		reason    string
	}{
		{"by the word", func(*place, string) {}, canceled(7), false, schemas.ReasonCanceled},
		{"by a pull", func(p *place, _ string) { p.notYours([]uint64{7}, 9) }, canceled(7), false, reasonSuperseded},
		{"by a pull, and it has stopped", func(p *place, _ string) {
			p.notYours([]uint64{7}, 9)
			p.reconcile([]uint64{})
		}, canceled(7), true, ""},
		{"by the answer to its result", func(p *place, taskID string) { p.drop(taskID, 7) }, canceled(7), true, ""},
		{"not at all: it was given the task a second time", func(p *place, taskID string) { p.drop(taskID, 7) }, canceled(9), false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, assigned := bench(t)
			p.desk.cfg.CancelWait = time.Millisecond
			p.handOver("", []*picked{p.picksOne(t)})
			tt.before(p, assigned.TaskID)
			tt.word.TaskID = assigned.TaskID
			if got := p.cancel(t.Context(), tt.word); got != tt.confirmed {
				t.Errorf("confirmed %v, want %v", got, tt.confirmed)
			}
			var reason string
			if stops, _ := p.tell(); len(stops) > 0 {
				reason = stops[0].Reason
			}
			if reason != tt.reason {
				t.Errorf("the agent is told %q, want %q", reason, tt.reason)
			}
		})
	}
}
