package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/schemas"
)

// agent writes the stream of a task as a worker does, and the house counts its chunks.
type agent struct {
	b       *bench
	writer  *broker.ChunkWriter
	writers *broker.ChunkWriters
	task    *schemas.Task
}

// stream submits a task and opens its stream.
func (b *bench) stream() *agent {
	b.t.Helper()
	task, err := b.Submit(patiently(b.t), message("hold"))
	if err != nil {
		b.t.Fatal(err)
	}
	return b.streamOf(task, fronttest.AgentID, 1)
}

func (b *bench) streamOf(task *schemas.Task, agentID string, attempt int) *agent {
	b.t.Helper()
	writers, err := b.broker.Conn(b.t).WriteChunks(agentID)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(writers.Close)
	m := &schemas.ReachMessage{TaskID: task.TaskID, Attempt: attempt, ResponseMode: schemas.ModeStream}
	if attempt > 1 {
		m.Assignment = &schemas.Assignment{Restarts: 1}
	}
	return &agent{b: b, writers: writers, writer: writers.Open(m), task: task}
}

func (a *agent) say(chunks ...string) {
	a.b.t.Helper()
	for _, chunk := range chunks {
		if err := a.writer.Write(patiently(a.b.t), schemas.Payload(chunk)); err != nil {
			a.b.t.Errorf("write: %v", err)
		}
		a.b.house.Say(a.task.TaskID, front.Event{Chunk: &schemas.Chunk{Data: schemas.Payload(chunk)}})
	}
}

func (a *agent) end(result string, failure *schemas.Error) {
	a.writer.End()
	if failure != nil {
		a.b.house.End(a.task.TaskID, nil, failure)
		return
	}
	a.b.house.End(a.task.TaskID, schemas.Payload(result), nil)
}

func TestChunks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	a := b.stream()
	go func() {
		for n := range 100 {
			a.say(fmt.Sprint(n + 1))
		}
		a.end("1", nil)
	}()
	last := int64(0)
	for chunk, err := range b.Chunks(patiently(t), a.task.TaskID) {
		if err != nil {
			t.Fatal(err)
		}
		if last++; chunk.N != last || string(chunk.Data) != fmt.Sprint(last) {
			t.Fatalf("chunk %d after %d: %s", chunk.N, last-1, []byte(chunk.Data))
		}
	}
	if last != 100 {
		t.Errorf("%d chunks", last)
	}
}

func TestChunksOfATaskThatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	a := b.stream()
	a.say(`"half"`)
	var got []string
	for chunk, err := range b.Chunks(patiently(t), a.task.TaskID) {
		if err != nil {
			wantError(t, err, schemas.DeadlineExceeded, schemas.ReasonRunLimit)
			got = append(got, "failed")
			continue
		}
		got = append(got, string(chunk.Data))
		a.end("", schemas.NewError(schemas.DeadlineExceeded, schemas.ReasonRunLimit, "too long"))
	}
	if diff := cmp.Diff([]string{`"half"`, "failed"}, got); diff != "" {
		t.Error(diff)
	}
	for _, err := range b.Chunks(patiently(t), schemas.NewTaskID()) {
		wantError(t, err, schemas.NotFound, schemas.ReasonUnknownTask)
	}
	for _, err := range b.Chunks(patiently(t), ">") {
		wantError(t, err, schemas.InvalidArgument, schemas.ReasonBadName)
	}
}

// heard is all that a stream says, and how the task ended.
func heard(t *testing.T, s *client.Stream) (lines []string) {
	t.Helper()
	ctx := patiently(t)
	for {
		event, err := s.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return lines
		case err != nil:
			t.Fatalf("%v after %v", err, lines)
		case event.Task != nil:
			lines = append(lines, fmt.Sprint(event.Task.State, " ", event.Task.AgentID))
		case event.Progress != nil:
			lines = append(lines, "progress "+event.Progress.Message)
		case event.Notice != nil:
			lines = append(lines, fmt.Sprint(event.Notice.Notice, " ", event.Notice.Next))
		default:
			lines = append(lines, string(event.Chunk.Data))
		}
	}
}

func (b *bench) follow(taskID string, after int64) *client.Stream {
	b.t.Helper()
	s, err := b.Follow(patiently(b.t), taskID, after)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(s.Close)
	return s
}

// looking makes a client whose looks may be slow.
func (b *bench) looking() *bench {
	b.Client = client.New(b.broker.Conn(b.t), client.WithTimes(try, patience), client.WithSlice(slice), client.WithLook(time.Second))
	return b
}

func TestAStreamOfEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t).looking()
	defer b.serve()()
	a := b.stream()
	s := b.follow(a.task.TaskID, client.Fresh)
	a.say("1", "2")
	first, err := s.Next(patiently(t))
	if err != nil || first.Task == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	for range 2 {
		if event, err := s.Next(patiently(t)); err != nil || event.Chunk == nil {
			t.Fatalf("%+v, %v", event, err)
		}
	}
	b.house.Say(a.task.TaskID, front.Event{Progress: &schemas.Progress{Message: "half"}}) // of two ways, either may be the quicker one
	if event, err := s.Next(patiently(t)); err != nil || event.Progress == nil {
		t.Fatalf("%+v, %v", event, err)
	}
	a.say("3")
	a.end("6", nil)
	if diff := cmp.Diff([]string{"3", "completed laptop-1"}, heard(t, s)); diff != "" {
		t.Error(diff)
	}
	if task := s.Task(); task.State != schemas.StateCompleted || string(task.Result) != "6" || task.Chunks != 3 {
		t.Errorf("task %+v", task)
	}
	if diff := cmp.Diff([]string{"completed laptop-1"}, heard(t, b.follow(a.task.TaskID, client.Fresh))); diff != "" {
		t.Error(diff)
	}
}

func TestAStreamOverAnOutage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	a := b.stream()
	s := b.follow(a.task.TaskID, 0)
	a.say("1")
	b.broker.Stop()
	a.say("2") // nobody hears it
	b.broker.Start()
	a.say("3")
	a.end("6", nil)
	if diff := cmp.Diff([]string{"working laptop-1", "1", "2", "3", "completed laptop-1"}, heard(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestAStreamFollowsItsTaskToAnotherAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t).looking()
	moved := &moving{Service: b.house}
	defer b.serve(moved)()
	b.house.OnEnd(nil) // the end is found by looking
	a := b.stream()
	s := b.follow(a.task.TaskID, 0)
	a.say("1", "2")
	for range 3 {
		if _, err := s.Next(patiently(t)); err != nil {
			t.Fatal(err)
		}
	}
	a.writers.Close() // its worker has died
	moved.to.Store(true)
	other := b.streamOf(a.task, "phone-2", 2)
	go func() {
		other.say("3")
		b.house.Say(a.task.TaskID, front.Event{Progress: &schemas.Progress{Message: "half"}})
		other.end("3", nil)
	}()
	got := heard(t, s)
	if len(got) < 4 || got[0] != "working phone-2" || !strings.HasPrefix(got[1], "restarted ") || got[2] != "3" || got[len(got)-1] != "completed phone-2" {
		t.Errorf("heard %v", got)
	}
}

func TestWhoeverLeavesAStreamChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.serve()()
	a := b.stream()
	ctx, leave := context.WithCancel(patiently(t))
	s := b.follow(a.task.TaskID, 0)
	time.AfterFunc(100*time.Millisecond, leave)
	for err := error(nil); err == nil; {
		if _, err = s.Next(ctx); err != nil {
			wantError(t, err, schemas.Cancelled, "")
		}
	}
	s.Close()
	for n := range 100 {
		a.say(fmt.Sprint(n))
	}
	task, err := b.Task(patiently(t), a.task.TaskID)
	if err != nil || task.State != schemas.StateWorking {
		t.Errorf("%+v, %v", task, err)
	}
}
