package front

import (
	"context"

	"github.com/agentreach/agent-reach/schemas"
)

// Fresh is where a follower begins that has no chunk yet. Of a task that has already ended it hears the end alone; whoever names a
// chunk, or 0, gets those that are still kept before that.
const Fresh = -1

// Event is one thing that the follower of a task hears. Exactly one of its fields is set; the last event is a Task that has ended.
type Event struct {
	Task     *schemas.Task // as it stands now: its state, phase, agent or attempt is another than before
	Progress *schemas.Progress
	Chunk    *schemas.Chunk
	Notice   *schemas.Notice
}

// Events is what happens to one task, for one follower. It is used by one goroutine at a time.
type Events interface {
	// Next waits for the next event. It says as well that the event before has been dealt with: a follower that is slow to ask slows
	// down the agent, within bounds. After the last event the error is io.EOF; every other error is an *schemas.Error.
	Next(ctx context.Context) (Event, error)
	// Close ends it. The task goes on.
	Close()
}
