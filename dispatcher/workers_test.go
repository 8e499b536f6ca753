package dispatcher_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/score"
	"github.com/agentreach/agent-reach/schemas"
)

// repeated reports whether a repeat was recognised, by the dispatcher or only by the ledger.
func repeated(a schemas.Answer) bool {
	return a.Outcome == schemas.OutcomeAlreadyYours || a.Outcome == schemas.OutcomeStored
}

func TestBeginIsGivenOnceAndItsRepeatIsRecognised(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick(), quick())
	w := newScripted(h, "laptop-1", offer{"test_run", 2})
	task := h.submit(work())
	a := w.next()
	begin := schemas.Begin{TaskID: task.TaskID, Attempt: 1, Sequence: a.sequence, InstanceID: w.instance, WriteID: "0123456789abcdef"}
	var first, repeat, other schemas.Answer
	w.request(broker.SubjectBegin(w.agentID), begin, &first)
	w.request(broker.SubjectBegin(w.agentID), begin, &repeat)
	begin.WriteID = "fedcba9876543210"
	w.request(broker.SubjectBegin(w.agentID), begin, &other)
	if first.Outcome != schemas.OutcomeStored || !repeated(repeat) || first.Sequence != repeat.Sequence {
		t.Errorf("got %+v, then %+v", first, repeat)
	}
	if other.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("another begin of the same sequence got %+v", other)
	}
	a.sequence = first.Sequence
	r := w.result(a, schemas.StateCompleted)
	r.Result = schemas.Payload(`{"passed":true,"output":"ok"}`)
	if answer := w.finish(r); answer.Outcome != schemas.OutcomeStored {
		t.Errorf("finish got %+v", answer)
	}
	if answer := w.finish(r); !repeated(answer) {
		t.Errorf("the repeat of a finish got %+v", answer)
	}
	r.WriteID = "00000000ffffffff"
	if answer := w.finish(r); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a second finish got %+v", answer)
	}
	if done := h.wait(task.TaskID); done.State != schemas.StateCompleted || done.StartedAt.IsZero() {
		t.Errorf("got %+v", done)
	}
}

func TestTheAnswerToAResultTellsWhetherAnythingWaits(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ExcessWait = 1
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	h.submit(echo(`{}`))
	first := w.next()
	h.submit(echo(`{}`))
	if answer := w.complete(first); answer.Outcome != schemas.OutcomeStored || answer.Idle {
		t.Errorf("with a task that waits it got %+v", answer)
	}
	w.pull("echo", 1)
	if answer := w.complete(w.next()); answer.Outcome != schemas.OutcomeStored || !answer.Idle {
		t.Errorf("with nothing that waits it got %+v", answer)
	}
}

func TestANewTaskDoesNotWaitBehindOthersWhereThereIsRoomForAll(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	first := h.submit(echo(`{}`))
	waiting := h.submit(echo(`{}`))
	if waiting.Phase != schemas.PhaseQueued {
		t.Fatalf("an agent of unknown speed has more than its slots: %+v", waiting)
	}
	a := w.next()
	w.complete(a) // at once: its agent has room for many more
	h.wait(first.TaskID)
	if task := h.submit(echo(`{}`)); task.Phase != schemas.PhaseAssigned {
		t.Errorf("got %+v", task)
	}
	w.complete(w.next())
	w.pull("echo", 1)
	if a = w.next(); a.message.TaskID != waiting.TaskID {
		t.Errorf("the pull brought %s, want the task that waits", a.message.TaskID)
	}
}

func TestNobodyFinishesAnotherAgentsTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	thief := newScripted(h, "thief", offer{"text_stats", 1})
	task := h.submit(echo(`{}`))
	a := w.next()
	if answer := thief.complete(a); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a stranger's finish got %+v", answer)
	}
	stale := a
	stale.sequence += 100
	if answer := w.complete(stale); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a finish with another sequence got %+v", answer)
	}
	if got := h.task(task.TaskID); got.State != schemas.StateWorking {
		t.Errorf("the task is %s", got.State)
	}
	w.complete(a)
	h.wait(task.TaskID)
}

// TestOneResultIsPublishedHoweverManyDispatchersWereAsked repeats each result at once and in other words, so that two dispatchers write
// two records under one write id.
func TestOneResultIsPublishedHoweverManyDispatchersWereAsked(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick(), quick())
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	published := make(chan schemas.Task, 1024)
	heard, err := h.broker.Conn(t).Subscribe(broker.SubjectResult(schemas.DefaultTenant, broker.Any), func(_ string, body []byte) {
		var task schemas.Task
		check(t, schemas.Decode(body, &task))
		published <- task
	})
	check(t, err)
	defer heard.Close()
	results := make(map[string]string)
	for range 60 {
		task := h.submit(echo(`{}`))
		result := w.result(w.next(), schemas.StateCompleted)
		var all sync.WaitGroup
		for n := range 6 {
			said := result
			said.Result = schemas.Payload(strconv.Itoa(n))
			all.Go(func() { w.finishEventually(said) })
		}
		all.Wait()
		results[task.TaskID] = string(h.wait(task.TaskID).Result)
	}
	for told := make(map[string]bool); len(told) < len(results); {
		task := received(t, published)
		told[task.TaskID] = true
		if string(task.Result) != results[task.TaskID] {
			t.Errorf("%s was published with %s and is %s", task.TaskID, string(task.Result), results[task.TaskID])
		}
	}
}

// received is the next value of a channel.
func received[T any](t testing.TB, c <-chan T) (value T) {
	t.Helper()
	brokertest.Eventually(t, "something of a channel", func() bool {
		select {
		case value = <-c:
			return true
		default:
			return false
		}
	})
	return value
}

func TestAResultThatBreaksTheContractIsNoSuccess(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"summarize", 1})
	task := h.submit(schemas.ReachMessage{Capability: "summarize", Payload: schemas.Payload(`{"text":"x"}`)})
	a := w.next()
	r := w.result(a, schemas.StateCompleted)
	r.Result = schemas.Payload(`{"summry":"x"}`)
	answer := w.finish(r)
	if answer.Outcome != schemas.OutcomeStored || answer.Error == nil || answer.Error.Reason != schemas.ReasonOutputSchema {
		t.Errorf("got %+v", answer)
	}
	done := h.wait(task.TaskID)
	if done.State != schemas.StateFailed || done.Error.Code != schemas.Internal || done.Error.Reason != schemas.ReasonOutputSchema || done.Result != nil {
		t.Errorf("got %+v", done)
	}
}

func TestAnUnreachableAgentsTaskGoesToTheNextAndThenWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one := newScripted(h, "one", offer{"echo", 1})
	two := newScripted(h, "two", offer{"echo", 1})
	refused := schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "connection refused")
	workers := map[string]*scripted{"one": one, "two": two}
	task := h.submit(echo(`{}`))
	first := workers[task.AgentID]
	first.fail(first.next(), schemas.RanNo, refused)
	second := workers[map[string]string{"one": "two", "two": "one"}[task.AgentID]]
	a := second.next()
	if a.message.Attempt != 2 {
		t.Errorf("the next attempt is %d, want 2", a.message.Attempt)
	}
	second.fail(a, schemas.RanNo, refused)
	waiting := h.task(task.TaskID)
	if waiting.Phase != schemas.PhaseScheduled || waiting.State != schemas.StateWorking {
		t.Errorf("got %s (%s), want a scheduled retry that works on", waiting.Phase, waiting.State)
	}
	var last *scripted
	select {
	case e := <-one.arrived:
		last, a = one, one.read(e)
	case e := <-two.arrived:
		last, a = two, two.read(e)
	case <-time.After(10 * time.Second):
		t.Fatal("the retry did not come")
	}
	if a.message.Attempt != 3 {
		t.Errorf("the retry is attempt %d, want 3", a.message.Attempt)
	}
	last.fail(a, schemas.RanNo, refused)
	if done := h.wait(task.TaskID); done.State != schemas.StateFailed || done.Error.Code != schemas.Unavailable || done.Attempt != 3 {
		t.Errorf("got %+v", done)
	}
}

func TestAnUnknownOutcomeIsNeverRunAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "one", offer{"test_run", 1})
	newScripted(h, "two", offer{"test_run", 1})
	m := work()
	m.PreferAgent = "one"
	task := h.submit(m)
	a := w.next()
	a.sequence = w.begin(a).Sequence
	w.fail(a, schemas.RanUnknown, schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "too slow"))
	if done := h.wait(task.TaskID); done.State != schemas.StateFailed || done.Error.Code != schemas.Aborted {
		t.Errorf("got %+v", done)
	}
}

// countsTheFeed leaves a test out of a run on a disturbed feed: it counts what comes by it.
func countsTheFeed(t *testing.T) {
	t.Helper()
	if os.Getenv(brokertest.DisturbVariable) != "" {
		t.Skip("it counts what comes by the feed, which is disturbed")
	}
}

func TestATaskThatMovedIsSentAgainToItsNewAgentThoughTheOldOneHadConfirmedIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one := newScripted(h, "one", offer{"echo", 1})
	two := newScripted(h, "two", offer{"echo", 1})
	m := echo(`{}`)
	m.PreferAgent = "one"
	h.submit(m)
	a := one.next()
	one.receipt(a, true)
	one.fail(a, schemas.RanNo, schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "refused"))
	first := two.next() // and forgot it
	if again := two.again(); again.sequence != first.sequence {
		t.Errorf("got sequence %d, want %d again", again.sequence, first.sequence)
	}
}

func TestALostAssignmentIsSentAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	task := h.submit(echo(`{}`))
	first := w.next() // the worker's own fault: it heard it and forgot it
	again := w.again()
	if again.sequence != first.sequence {
		t.Errorf("got sequence %d again, want %d", again.sequence, first.sequence)
	}
	w.receipt(again, true)
	w.complete(again)
	h.wait(task.TaskID)
}

func TestWhatIsLateIsSentAgainAFewAtATime(t *testing.T) {
	t.Parallel()
	countsTheFeed(t)
	const tasks, atOnce = 100, 32
	cfg := quick()
	cfg.ResendAfter = 3 * time.Second
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", tasks})
	first := map[string]bool{}
	for range tasks {
		first[h.submit(echo(`{}`)).TaskID] = true
	}
	for range tasks {
		w.next()
	}
	var again []string
	start := time.Now()
	for range atOnce {
		again = append(again, w.again().message.TaskID)
	}
	if w.again(); time.Since(start) < 200*time.Millisecond {
		t.Errorf("more than %d tasks came again within %v", atOnce, time.Since(start))
	}
	oldest := slices.Sorted(maps.Keys(first))[:2*atOnce] // two looks may overlap where the machine is slow
	for _, id := range again {
		if !slices.Contains(oldest, id) {
			t.Error("one that came again is not among the oldest")
		}
	}
}

func TestAPullBringsWhatDidNotArriveAndSaysWhatIsNotYours(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ResendAfter = time.Minute
	h := newHouse(t, cfg)
	w := newScripted(h, "laptop-1", offer{"echo", 2})
	h.submit(echo(`1`))
	lost := w.next()
	kept := h.submit(echo(`2`))
	a := w.next()
	var got []assignment
	brokertest.Eventually(t, "the lost assignment comes by a pull", func() bool {
		var end schemas.PullEnd
		got, end = w.pull("echo", 0, a.sequence, 1_000_000_000)
		if len(end.NotYours) != 0 {
			t.Fatalf("a sequence that the dispatcher has not seen is called not yours: %v", end.NotYours)
		}
		return len(got) == 1 && got[0].sequence == lost.sequence
	})
	check(t, ignoreTask(h.any().Cancel(t.Context(), schemas.DefaultTenant, kept.TaskID)))
	_, end := w.beat(schemas.AgentOnline, []string{"echo"}, a.sequence, lost.sequence)
	if diff := cmp.Diff([]uint64{a.sequence}, end.NotYours); diff != "" {
		t.Error(diff)
	}
}

func ignoreTask(_ *schemas.Task, err error) error { return err }

func TestTheTasksOfADeadWorker(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	newScripted(h, "heir", offer{"echo", 4}, offer{"test_run", 4}).keepBeating()
	doomed := newScripted(h, "doomed", offer{"echo", 4}, offer{"test_run", 4})
	doomed.keepBeating()
	submit := func(m schemas.ReachMessage) (string, assignment) {
		m.PreferAgent = "doomed"
		return h.submit(m).TaskID, doomed.next()
	}
	idempotent, running := submit(echo(`"runs"`))
	unbegun, held := submit(work())
	begun, started := submit(work())
	started.sequence = doomed.begin(started).Sequence
	for _, a := range []assignment{running, held, started} {
		doomed.receipt(a, a.message.TaskID != unbegun)
	}
	doomed.vanish()
	moved := func(id string, attempt int) func() bool {
		return func() bool {
			task := h.task(id)
			return task.AgentID == "heir" && task.Attempt == attempt
		}
	}
	brokertest.Eventually(t, "the idempotent one runs elsewhere, as a second attempt", moved(idempotent, 2))
	brokertest.Eventually(t, "the one that had not begun moves and cost nothing", moved(unbegun, 1))
	if done := h.wait(begun); done.State != schemas.StateFailed || done.Error.Code != schemas.Aborted {
		t.Errorf("the begun one with side effects got %+v", done)
	}
	zombie := doomed.result(running, schemas.StateCompleted)
	if answer := doomed.finish(zombie); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a zombie's finish got %+v", answer)
	}
}

// TestATaskThatKillsItsWorkersAtOnceStops: each worker goes before it has said that it has the task.
func TestATaskThatKillsItsWorkersAtOnceStops(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := echo(`"poison"`)
	m.WaitForAgent = true
	id := h.submit(m).TaskID
	victims := 0
	for ; !h.task(id).State.Terminal() && victims < 20; victims++ {
		w := newScripted(h, fmt.Sprintf("victim-%d", victims), offer{"echo", 1})
		w.pull("echo", 1)
		w.next()
		w.vanish()
		brokertest.Eventually(t, "it is taken away", func() bool {
			task := h.task(id)
			return task.State.Terminal() || task.AgentID == ""
		})
	}
	task := h.task(id)
	if victims != 8 || task.Error == nil || task.Error.Reason != schemas.ReasonTooManyAttempts || !task.DeadLetter {
		t.Errorf("after %d workers it is %s with %v, among the dead letters: %v", victims, task.State, task.Error, task.DeadLetter)
	}
}

func TestARestartedWorkerEndsWhatItsPredecessorHadBegun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	old := newScripted(h, "laptop-1", offer{"test_run", 2})
	begun, waiting := h.submit(work()), h.submit(work())
	a := old.next()
	if a.message.TaskID != begun.TaskID {
		a = old.next()
	}
	old.begin(a)
	old.vanish()
	successor := newScripted(h, "laptop-1", offer{"test_run", 2})
	got, _ := successor.pull("test_run", 1)
	if done := h.wait(begun.TaskID); done.Error == nil || done.Error.Code != schemas.Aborted {
		t.Errorf("the begun task got %+v", done)
	}
	if len(got) == 0 {
		got = append(got, successor.next())
	}
	if got[0].message.TaskID != waiting.TaskID {
		t.Errorf("got %s, want the task that had not begun", got[0].message.TaskID)
	}
	if err := old.try(broker.SubjectPull("laptop-1"), schemas.Pull{AgentID: "laptop-1", InstanceID: old.instance}, new(schemas.PullEnd)); err == nil {
		t.Error("the predecessor may still pull")
	}
}

func TestASecondProcessIsRefusedWhileTheFirstAnswers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := newScripted(h, "laptop-1", offer{"echo", 1})
	r := schemas.Registration{
		AgentID: "laptop-1", InstanceID: schemas.NewTaskID(), Version: "1.0.0", Transport: schemas.Transport{Type: "func"},
		Capabilities: []schemas.Offer{{ID: "echo"}},
	}
	_, err := h.any().Register(t.Context(), &r)
	wantCode(t, err, schemas.AlreadyExists, "")
	first.vanish()
	_, err = h.any().Register(t.Context(), &r)
	check(t, err)
	first.t.Log("taken over")
	r.Capabilities[0].InputSchema = []byte(`{"type":"string"}`)
	_, err = h.any().Register(t.Context(), &r)
	wantCode(t, err, schemas.FailedPrecondition, "")
	r.Version = "1.1.0"
	_, err = h.any().Register(t.Context(), &r)
	check(t, err)
	r.Capabilities[0].ID = "search_web"
	_, err = h.any().Register(t.Context(), &r)
	t.Log(wantCode(t, err, schemas.InvalidArgument, ""))
}

func TestCancelInEveryPhase(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"test_run", 2})
	assigned, begun, queued := h.submit(work()), h.submit(work()), h.submit(work())
	soon := work()
	soon.NotBefore = schemas.At(time.Now().Add(time.Hour))
	scheduled := h.submit(soon)
	for range 2 {
		if a := w.next(); a.message.TaskID == begun.TaskID {
			w.begin(a)
		}
	}
	for _, at := range []struct {
		id    string
		phase schemas.Phase
	}{ // what waits comes first: it would take the place of what is canceled
		{queued.TaskID, schemas.PhaseQueued},
		{scheduled.TaskID, schemas.PhaseScheduled},
		{assigned.TaskID, schemas.PhaseAssigned},
		{begun.TaskID, schemas.PhaseBegun},
	} {
		id, phase := at.id, at.phase
		if got := h.task(id); got.Phase != phase {
			t.Fatalf("got %s, want %s", got.Phase, phase)
		}
		task, err := h.any().Cancel(t.Context(), schemas.DefaultTenant, id)
		check(t, err)
		if task.State != schemas.StateCanceled || !task.Cancel.Won || !task.Cancel.Confirmed {
			t.Errorf("canceled while %s: got %s, %+v", phase, task.State, task.Cancel)
		}
		if kept := h.task(id); kept.Revision != task.Revision || phase != schemas.PhaseQueued && phase != schemas.PhaseScheduled && (kept.Cancel == nil || !kept.Cancel.Confirmed) {
			t.Errorf("canceled while %s: the record says %+v at %d, want it confirmed at %d", phase, kept.Cancel, kept.Revision, task.Revision)
		}
		again, err := h.any().Cancel(t.Context(), schemas.DefaultTenant, id)
		check(t, err)
		if again.State != schemas.StateCanceled || again.Cancel.Won || again.Revision != task.Revision {
			t.Errorf("a second cancel changed something: %+v, %+v", again, again.Cancel)
		}
	}
	for range 2 {
		if c := <-w.controls; c.Do != schemas.DoCancel {
			t.Errorf("the worker was told %+v", c)
		}
	}
}

func TestATaskEndsAtItsOwnExpiry(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	short := echo(`1`)
	short.ExpiresAt = schemas.At(time.Now().Add(400 * time.Millisecond))
	running, queued := h.submit(short), h.submit(short)
	for _, id := range []string{running.TaskID, queued.TaskID} {
		if done := h.wait(id); done.State != schemas.StateFailed || done.Error.Code != schemas.DeadlineExceeded || done.Error.Reason != schemas.ReasonExpired {
			t.Errorf("got %+v", done)
		}
	}
	if answer := w.complete(w.next()); answer.Outcome != schemas.OutcomeSuperseded {
		t.Errorf("a finish after the expiry got %+v", answer)
	}
}

func TestAScheduledTaskStartsWhenItIsDue(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	m := echo(`1`)
	due := time.Now().Add(300 * time.Millisecond)
	m.NotBefore = schemas.At(due)
	task := h.submit(m)
	if task.Phase != schemas.PhaseScheduled || task.State != schemas.StateSubmitted {
		t.Errorf("got %s (%s)", task.Phase, task.State)
	}
	w.complete(w.next())
	if time.Now().Before(due.Truncate(time.Millisecond)) {
		t.Error("it started before it was due")
	}
	h.wait(task.TaskID)
}

func TestAReleasedTaskGoesElsewhereAndADrainedAgentGetsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one := newScripted(h, "one", offer{"echo", 1})
	m := echo(`1`)
	task := h.submit(m)
	_, err := h.any().Drain(t.Context(), "one")
	check(t, err)
	if c := <-one.controls; c.Do != schemas.DoDrain {
		t.Errorf("the worker was told %+v", c)
	}
	if answer := one.release(one.next()); answer.Outcome != schemas.OutcomeStored {
		t.Errorf("got %+v", answer)
	}
	if got := h.task(task.TaskID); got.Phase != schemas.PhaseQueued {
		t.Errorf("got %s, want it back in the queue", got.Phase)
	}
	_, err = h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	wantCode(t, err, schemas.Unavailable, schemas.ReasonNoAgent)
	_, err = h.any().Resume(t.Context(), "one")
	check(t, err)
	one.complete(one.next())
	if done := h.wait(task.TaskID); done.Attempt != 1 {
		t.Errorf("giving a task back cost an attempt: %d", done.Attempt)
	}
}

func TestAnUnhealthyAgentLeavesRouting(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	w.beat(schemas.AgentOnline, []string{})
	m := echo(`1`)
	brokertest.Eventually(t, "nothing is routed to it", func() bool {
		_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
		return err != nil && schemas.AsError(err).Reason == schemas.ReasonNoAgent
	})
	before, err := h.any().Agent(t.Context(), "laptop-1")
	check(t, err)
	w.beat(schemas.AgentOnline, []string{})
	after, err := h.any().Agent(t.Context(), "laptop-1")
	check(t, err)
	if after.State != schemas.AgentDegraded || after.LastSeenAt != before.LastSeenAt {
		t.Errorf("it is %s, and was seen at %v, then at %v", after.State, before.LastSeenAt, after.LastSeenAt)
	}
	wantLeftOut(t, h, m, score.WhyDegraded)
	w.beat(schemas.AgentOnline, []string{"echo"})
	brokertest.Eventually(t, "it comes back with its next heartbeat", func() bool {
		_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
		return err == nil
	})
}

// wantLeftOut says why the only agent there is may not have a message.
func wantLeftOut(t *testing.T, h *house, m schemas.ReachMessage, why score.Why) {
	t.Helper()
	e, err := h.any().Explain(t.Context(), schemas.DefaultTenant, &m)
	check(t, err)
	if len(e.LeftOut) != 1 || e.LeftOut[0].Why != string(why) {
		t.Errorf("left out %+v, want it to be for %s", e.LeftOut, why)
	}
}

func TestAGoodbyeIsBelievedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "laptop-1", offer{"echo", 1})
	w.beat(schemas.AgentOnline, []string{"echo"})
	w.beat(schemas.AgentOffline, []string{})
	brokertest.Eventually(t, "it is offline", func() bool { return h.agentState("laptop-1") == schemas.AgentOffline })
	wantLeftOut(t, h, echo(`1`), score.WhyOffline)
	_, err := h.any().Register(t.Context(), &w.registration)
	check(t, err)
	w.beat(schemas.AgentOnline, []string{"echo"})
	if got := h.agentState("laptop-1"); got != schemas.AgentOnline {
		t.Errorf("after it has come back it is %s", got)
	}
}
