package dispatcher

import (
	"context"
	"io"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

const (
	lookEvery  = 5 * time.Second // at a task of which nothing is heard
	lookAgain  = time.Second     // where that has failed
	replayLife = time.Minute     // after the end of a task: longer, no worker keeps its chunks
)

// Follow tells a caller what happens to a task: how it stands, from agent to agent, how far its agent is, its chunks, and its end.
func (d *Dispatcher) Follow(ctx context.Context, tenant, taskID string, after int64) (front.Events, error) {
	if err := schemas.CheckTaskID(taskID); err != nil {
		return nil, err
	}
	f := &follower{d: d, tenant: tenant, taskID: taskID, after: max(after, 0)}
	f.bell, f.forget = d.view.follow(taskID)
	if err := f.look(ctx); err != nil {
		f.forget()
		return nil, err
	}
	if f.ended != nil && !f.mayReplay(after) {
		return f, nil
	}
	reader, err := d.conn.ReadChunks(taskID, f.after)
	if err != nil {
		f.forget()
		return nil, refusal(err)
	}
	f.reader = reader
	f.steer()
	return f, nil
}

// follower is one caller's view of a task. Its fields belong to whoever calls Next.
type follower struct {
	d              *Dispatcher
	tenant, taskID string
	after          int64
	bell           <-chan struct{} // something has changed about the task
	forget         func()
	reader         *broker.ChunkReader // nil where no chunks are to come

	task     *schemas.Task // as it stands
	told     standing      // of what the caller knows
	progress *schemas.Progress
	ended    *schemas.Task
	over     bool
	streams  bool // the caller wants a stream, and the agent has sent no chunk yet
	whole    []front.Event
}

// standing is what a caller is told of when it changes.
type standing struct {
	state   schemas.State
	phase   schemas.Phase
	agentID string
	attempt int
}

func standingOf(t *schemas.Task) standing { return standing{t.State, t.Phase, t.AgentID, t.Attempt} }

// mayReplay reports whether a caller that comes after the end is still owed chunks, and a worker may have them.
func (f *follower) mayReplay(after int64) bool {
	return after != front.Fresh && f.ended.Chunks > f.after && f.d.now().Sub(f.ended.FinishedAt.Time) < replayLife
}

// Next waits for the next event.
func (f *follower) Next(ctx context.Context) (front.Event, error) {
	var tick *time.Timer
	for {
		event, found := f.next()
		switch {
		case found:
			return event, nil
		case f.over:
			return front.Event{}, io.EOF
		}
		if tick == nil { // most often, the next event is there
			tick = time.NewTimer(lookEvery)
			defer tick.Stop()
		}
		var ready <-chan struct{}
		if f.reader != nil {
			ready = f.reader.Ready()
		}
		select {
		case <-ready:
			continue
		case <-f.bell:
		case <-tick.C: // what the feed has lost is found by looking
			tick.Reset(lookEvery)
		case <-ctx.Done():
			return front.Event{}, schemas.NewError(schemas.Cancelled, "", "the caller stopped following; the task goes on")
		}
		if err := f.look(ctx); err != nil {
			if schemas.AsError(err).Code != schemas.Unavailable {
				return front.Event{}, err
			}
			tick.Reset(lookAgain)
		}
		f.steer()
	}
}

// next is the next event that is at hand: how the task stands comes before the chunks that it has led to, and its end comes last.
func (f *follower) next() (front.Event, bool) {
	if f.over {
		return front.Event{}, false
	}
	if f.ended == nil && standingOf(f.task) != f.told {
		f.told = standingOf(f.task)
		return front.Event{Task: f.task}, true
	}
	if f.ended == nil && f.task.Progress != nil && f.task.Progress != f.progress {
		f.progress = f.task.Progress
		return front.Event{Progress: f.progress}, true
	}
	if event, found := f.piece(); found {
		return event, true
	}
	if f.ended == nil || f.reader != nil && !f.reader.Complete() {
		return front.Event{}, false
	}
	if event, found := f.inOnePiece(); found {
		return event, true
	}
	f.over = true
	return front.Event{Task: f.ended}, true
}

// piece is the next chunk or notice.
func (f *follower) piece() (front.Event, bool) {
	if f.reader == nil {
		return front.Event{}, false
	}
	piece, found := f.reader.Next()
	f.streams = f.streams && !found
	if piece.Notice != nil && piece.Notice.Notice == schemas.NoticeModeChanged {
		f.d.metrics.Degraded()
	}
	return front.Event{Chunk: piece.Chunk, Notice: piece.Notice}, found
}

// inOnePiece gives a caller that wants a stream the result of an agent that does not: as one chunk, and the notice that there are no
// more.
func (f *follower) inOnePiece() (front.Event, bool) {
	if f.streams && f.ended.State == schemas.StateCompleted && f.after == 0 {
		f.d.metrics.Degraded()
		f.whole = []front.Event{
			{Chunk: &schemas.Chunk{TaskID: f.taskID, Attempt: f.ended.Attempt, N: 1, Data: f.ended.Result}},
			{Notice: &schemas.Notice{Notice: schemas.NoticeModeChanged, Attempt: f.ended.Attempt, Mode: schemas.ModeAggregate}},
		}
	}
	f.streams = false
	if len(f.whole) == 0 {
		return front.Event{}, false
	}
	event := f.whole[0]
	f.whole = f.whole[1:]
	return event, true
}

// look takes in how the task stands.
func (f *follower) look(ctx context.Context) error {
	if f.ended != nil {
		return nil
	}
	first := f.task == nil
	task, err := f.d.watched(ctx, f.tenant, f.taskID)
	if err != nil {
		return err
	}
	f.task = task
	if task.State.Terminal() {
		f.ended = task
	} else if first {
		f.streams = f.d.wantsStream(f.taskID)
	}
	return nil
}

// steer reads from the agent that has the task, or that has ended it. Of two that have it at once, the one that was read first is
// read on, until it is known which of them ends it.
func (f *follower) steer() {
	if f.reader == nil {
		return
	}
	also := f.d.alsoWith(f.taskID)
	if f.task.AgentID != "" && (f.ended != nil || also == "" || !f.reader.Reads(also)) {
		f.reader.From(f.task.AgentID)
	}
	if f.ended != nil {
		f.reader.End(f.ended.Chunks)
	}
}

// Close ends it. The task goes on.
func (f *follower) Close() {
	f.over = true
	f.forget()
	if f.reader != nil {
		f.reader.Close()
	}
}

// wantsStream reports whether the caller of an open task asked for a stream.
func (d *Dispatcher) wantsStream(taskID string) bool {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	t := d.view.tasks.Open(taskID)
	return t != nil && t.Terms.ResponseMode == schemas.ModeStream
}

// alsoWith is the first of two agents that have an open task.
func (d *Dispatcher) alsoWith(taskID string) string {
	d.view.mu.Lock()
	defer d.view.mu.Unlock()
	if t := d.view.tasks.Open(taskID); t != nil {
		return t.Also()
	}
	return ""
}
