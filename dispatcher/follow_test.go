package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// followed is what one follower hears, in a goroutine of its own.
type followed struct {
	t    testing.TB
	said chan string
	last *schemas.Task // to be read once said is closed
}

func (h *house) follow(d *running, taskID string, after int64) *followed {
	h.t.Helper()
	events, err := d.Follow(h.t.Context(), schemas.DefaultTenant, taskID, after)
	check(h.t, err)
	f := &followed{t: h.t, said: make(chan string, 4096)}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(f.said)
		defer events.Close()
		f.hear(ctx, events)
	}()
	h.t.Cleanup(func() { cancel(); <-done })
	return f
}

func (f *followed) hear(ctx context.Context, events front.Events) {
	for {
		event, err := events.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			f.said <- "error: " + err.Error()
			return
		case event.Task != nil && event.Task.State.Terminal():
			f.last = event.Task
			f.said <- "end: " + string(event.Task.State)
		case event.Task != nil:
			f.said <- fmt.Sprintf("%s %s %s %d", event.Task.State, event.Task.Phase, event.Task.AgentID, event.Task.Attempt)
		case event.Progress != nil:
			f.said <- "progress: " + event.Progress.Message
		case event.Notice != nil:
			f.said <- fmt.Sprint(event.Notice.Notice, " ", event.Notice.Next)
		default:
			f.said <- fmt.Sprintf("%d: %s", event.Chunk.N, []byte(event.Chunk.Data))
		}
	}
}

// expect is what is heard next.
func (f *followed) expect(want ...string) {
	f.t.Helper()
	for _, line := range want {
		select {
		case got := <-f.said:
			if got != line {
				f.t.Fatalf("heard %q, want %q", got, line)
			}
		case <-time.After(patience):
			f.t.Fatalf("heard nothing, want %q", line)
		}
	}
}

// end expects the end, and that it is the same as what a look at the task shows.
func (f *followed) end(h *house, state schemas.State) {
	f.t.Helper()
	f.expect("end: " + string(state))
	if more, open := <-f.said; open {
		f.t.Errorf("after the end: %s", more)
	}
	f.isWhatALookShows(h)
}

// stream opens the stream of an assignment, as its worker does.
func (w *scripted) stream(a assignment) *broker.ChunkWriter {
	w.t.Helper()
	writers, err := w.conn.WriteChunks(w.agentID)
	check(w.t, err)
	w.mu.Lock()
	w.deaths = append(w.deaths, writers.Close)
	w.mu.Unlock()
	return writers.Open(&a.message)
}

func (w *scripted) say(stream *broker.ChunkWriter, chunks ...string) {
	w.t.Helper()
	for _, chunk := range chunks {
		check(w.t, stream.Write(w.t.Context(), schemas.Payload(chunk)))
	}
}

func (w *scripted) completeStream(a assignment, stream *broker.ChunkWriter) {
	w.t.Helper()
	stream.End()
	r := w.result(a, schemas.StateCompleted)
	r.Chunks = stream.Last()
	w.finish(r)
}

func TestFollowersHearATaskToItsEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick(), quick())
	task := h.submit(schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload(`1.0`), WaitForAgent: true})
	one := h.follow(h.dispatchers[0], task.TaskID, front.Fresh)
	one.expect("submitted queued  0")
	w := newScripted(h, "a1", offer{"echo", 1})
	w.pull("echo", 1)
	a := w.next()
	one.expect("working assigned a1 1")
	stream := w.stream(a)
	w.say(stream, `"Ships "`)
	one.expect(`1: "Ships "`)
	brokertest.Eventually(t, "the other dispatcher has heard of the assignment", func() bool {
		known, err := h.dispatchers[1].Task(t.Context(), schemas.DefaultTenant, task.TaskID)
		return err == nil && known.State == schemas.StateWorking
	})
	two := h.follow(h.dispatchers[1], task.TaskID, 1)
	two.expect("working assigned a1 1")
	w.say(stream, `9007199254740993`)
	for _, f := range []*followed{one, two} {
		f.expect(`2: 9007199254740993`)
	}
	w.progress(a, "reading")
	for _, f := range []*followed{one, two} {
		f.expect("progress: reading")
	}
	w.say(stream, `"sail."`)
	w.completeStream(a, stream)
	for _, f := range []*followed{one, two} {
		f.expect(`3: "sail."`)
		f.end(h, schemas.StateCompleted)
	}
	if one.last.Chunks != 3 || string(one.last.Result) != "1.0" {
		t.Errorf("end %+v", one.last)
	}

	h.follow(h.any(), task.TaskID, front.Fresh).end(h, schemas.StateCompleted)
	back := h.follow(h.any(), task.TaskID, 2)
	back.expect(`3: "sail."`)
	back.end(h, schemas.StateCompleted)
}

func (w *scripted) progress(a assignment, message string) {
	w.t.Helper()
	w.h.knows(a)
	check(w.t, w.conn.Publish(broker.SubjectReceipt(w.agentID), schemas.MustEncode(schemas.Receipt{
		AgentID: w.agentID, InstanceID: w.instance, Time: schemas.At(time.Now()), Tasks: []schemas.ReceiptTask{{
			TaskID: a.message.TaskID, Attempt: a.message.Attempt, Sequence: a.sequence, Running: true,
			Progress: &schemas.Progress{Message: message},
		}},
	})))
}

// Every way to end a task reaches every follower, the same as a look shows it, once.
func TestFollowersHearEveryWayToEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		message schemas.ReachMessage
		end     func(h *house, w *scripted, a assignment)
		state   schemas.State
		code    schemas.Code
		life    time.Duration // a day where it is 0
	}{
		{"completed", echo(`1`), func(_ *house, w *scripted, a assignment) { w.complete(a) }, schemas.StateCompleted, "", 0},
		{
			"failed by its agent", echo(`1`), func(_ *house, w *scripted, a assignment) {
				w.fail(a, schemas.RanYes, schemas.NewError(schemas.InvalidArgument, "", "no"))
			}, schemas.StateFailed, schemas.InvalidArgument, 0,
		},
		{
			"canceled", echo(`1`), func(h *house, _ *scripted, a assignment) {
				_, err := h.any().Cancel(h.t.Context(), schemas.DefaultTenant, a.message.TaskID)
				check(h.t, err)
			}, schemas.StateCanceled, schemas.Cancelled, 0,
		},
		{
			"expired", echo(`1`), func(*house, *scripted, assignment) {}, schemas.StateFailed, schemas.DeadlineExceeded, 2 * time.Second,
		},
		{
			"worker lost", work(), func(_ *house, w *scripted, a assignment) { w.begin(a); w.vanish() },
			schemas.StateFailed, schemas.Aborted, 0,
		},
		{
			"run limit of what may have run", work(), func(_ *house, w *scripted, a assignment) {
				begun := w.begin(a)
				a.sequence = begun.Sequence
				w.fail(a, schemas.RanUnknown, schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "late"))
			}, schemas.StateFailed, schemas.Aborted, 0,
		},
		{
			"output that breaks the contract",
			schemas.ReachMessage{Capability: "text_stats", Payload: schemas.Payload(`{"text":"a"}`)},
			func(_ *house, w *scripted, a assignment) { w.complete(a) }, schemas.StateFailed, schemas.Internal, 0,
		},
		{
			"refused by its agent", echo(`1`), func(_ *house, w *scripted, a assignment) {
				r := w.result(a, schemas.StateRejected)
				r.Error = schemas.NewError(schemas.FailedPrecondition, "", "not here")
				w.finish(r)
			}, schemas.StateRejected, schemas.FailedPrecondition, 0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := mortal(t, 2)
			w := newScripted(h, "a1", offer{"echo", 1}, offer{"test_run", 1}, offer{"text_stats", 1})
			w.keepBeating()
			life := 24 * time.Hour
			if tt.life > 0 {
				life = tt.life
			}
			a, followers := w.streams(h, tt.message, life)
			for followers == nil { // it has expired before: the machine is slow
				life *= 2
				a, followers = w.streams(h, tt.message, life)
			}
			tt.end(h, w, a)
			for _, f := range followers {
				f.endAfter(h, tt.state, "working begun a1 1", "working assigned a1 1")
				if tt.code != "" && (f.last.Error == nil || f.last.Error.Code != tt.code) {
					t.Errorf("error %+v, want %s", f.last.Error, tt.code)
				}
			}
			h.follow(h.any(), a.message.TaskID, front.Fresh).end(h, tt.state)
		})
	}
}

// streams has an agent begin the stream of a task, with a follower at each dispatcher. There are none where the task has expired before.
func (w *scripted) streams(h *house, m schemas.ReachMessage, life time.Duration) (a assignment, followers []*followed) {
	w.t.Helper()
	task := h.brief(m, life)
	a = w.next()
	for _, d := range h.dispatchers {
		followers = append(followers, h.follow(d, task.TaskID, front.Fresh))
	}
	w.say(w.stream(a), `"x"`)
	for _, f := range followers {
		if !f.hears(`1: "x"`, "working assigned a1 1", "working begun a1 1") {
			return a, nil
		}
	}
	return a, followers
}

// expectAmong expects one line, which others may precede.
func (f *followed) expectAmong(want string, others ...string) {
	f.t.Helper()
	if !f.hears(want, others...) {
		f.t.Fatalf("heard the end, want %q", want)
	}
}

// hears is expectAmong, but reports false where the end of the task comes first.
func (f *followed) hears(want string, others ...string) bool {
	f.t.Helper()
	for {
		select {
		case got := <-f.said:
			if got == want {
				return true
			}
			if strings.HasPrefix(got, "end: ") {
				return false
			}
			if !slices.Contains(others, got) {
				f.t.Fatalf("heard %q, want %q", got, want)
			}
		case <-time.After(patience):
			f.t.Fatalf("heard nothing, want %q", want)
		}
	}
}

// isWhatALookShows compares the end that was heard with the task as it stands. Whether the agent of a canceled task confirmed is added
// to the record after its end.
func (f *followed) isWhatALookShows(h *house) {
	f.t.Helper()
	look, heard := h.task(f.last.TaskID), *f.last
	if look.Cancel != nil {
		look.Cancel, look.Revision, heard.Cancel = nil, heard.Revision, nil
	}
	if diff := cmp.Diff(string(schemas.MustEncode(look)), string(schemas.MustEncode(&heard))); diff != "" {
		f.t.Errorf("end (-look +event)\n%s", diff)
	}
}

func (f *followed) endAfter(h *house, state schemas.State, others ...string) {
	f.t.Helper()
	f.expectAmong("end: "+string(state), others...)
	if more, open := <-f.said; open {
		f.t.Errorf("after the end: %s", more)
	}
	f.isWhatALookShows(h)
}

func TestFollowersHearThatAnotherAgentBeginsAgain(t *testing.T) {
	t.Parallel()
	h := mortal(t, 1)
	first := newScripted(h, "a1", offer{"echo", 1})
	first.keepBeating()
	task := h.submit(schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload(`1`), ResponseMode: schemas.ModeStream})
	a := first.next()
	f := h.follow(h.any(), task.TaskID, front.Fresh)
	f.expect("working assigned a1 1")
	first.receipt(a, true)
	first.say(first.stream(a), `"one"`, `"two"`)
	f.expect(`1: "one"`, `2: "two"`)
	second := newScripted(h, "b2", offer{"echo", 1})
	second.keepBeating()
	first.vanish()
	b := second.next()
	f.expect("working assigned b2 2")
	stream := second.stream(b)
	second.say(stream, `"three"`)
	f.expect("restarted 3", `3: "three"`)
	second.completeStream(b, stream)
	f.end(h, schemas.StateCompleted)
	if f.last.Chunks != 3 || f.last.Attempt != 2 {
		t.Errorf("end %+v", f.last)
	}
}

func TestNumbersGoOnAfterAnAttemptThatFailed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "a1", offer{"echo", 1})
	w.keepBeating()
	task := h.submit(echo(`1`))
	a := w.next()
	stream := w.stream(a)
	w.say(stream, `"one"`, `"two"`)
	stream.End()
	r := w.result(a, schemas.StateFailed)
	r.Ran, r.Error, r.Chunks = schemas.RanNo, schemas.NewError(schemas.Unavailable, "", "try again"), stream.Last()
	w.finish(r)
	again := w.next()
	if as := again.message.Assignment; as.NextChunk != 3 || as.Restarts != 0 || again.message.Attempt != 2 {
		t.Errorf("assignment %+v", as)
	}
	f := h.follow(h.any(), task.TaskID, 2)
	f.expectAmong("working assigned a1 2", "working scheduled  2")
	stream = w.stream(again)
	f.expect("restarted 3")
	w.say(stream, `"three"`)
	w.completeStream(again, stream)
	f.expect(`3: "three"`)
	f.end(h, schemas.StateCompleted)
}

func TestAStreamOfAnAgentThatDoesNotStream(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := newScripted(h, "a1", offer{"echo", 1})
	task := h.submit(schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload(`1.0`), ResponseMode: schemas.ModeStream})
	f := h.follow(h.any(), task.TaskID, front.Fresh)
	w.complete(w.next())
	f.expect("working assigned a1 1", "1: 1.0", "mode_changed 0")
	f.end(h, schemas.StateCompleted)
}

func TestFollowingWhatIsNotThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := h.any().Follow(t.Context(), schemas.DefaultTenant, schemas.NewTaskID(), front.Fresh)
	wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownTask)
	_, err = h.any().Follow(t.Context(), schemas.DefaultTenant, ">", front.Fresh)
	wantCode(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
	task := h.submit(schemas.ReachMessage{Capability: "echo", Payload: schemas.Payload(`1`), WaitForAgent: true})
	_, err = h.any().Follow(t.Context(), "another", task.TaskID, front.Fresh)
	wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownTask)

	ctx, cancel := context.WithCancel(t.Context())
	events, err := h.any().Follow(ctx, schemas.DefaultTenant, task.TaskID, front.Fresh)
	check(t, err)
	defer events.Close()
	_, err = events.Next(ctx)
	check(t, err)
	cancel()
	_, err = events.Next(ctx)
	wantCode(t, err, schemas.Cancelled, "")
	if h.task(task.TaskID).State.Terminal() {
		t.Error("the task was ended by its follower")
	}
}
