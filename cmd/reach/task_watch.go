package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *app) taskWatchCommand(t *target) *cobra.Command {
	var after int64
	command := &cobra.Command{
		Use:   "watch TASK_ID",
		Short: "Follow a task and print its result while the agent produces it",
		Long: `Follow a task and print its result piece by piece while the agent produces it. If you start late, you get the pieces that
are still kept. Rely on the pieces only if the task completes: the exit code says whether it did. With -o json, each event is one line:
state, chunk, progress, notice, and at last done with the task. Ctrl-C does not affect the task.`,
		Example: `  reach task watch 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10
  reach task watch 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10 --after 17 -o json`,
		Args: oneTask,
		RunE: func(command *cobra.Command, args []string) error {
			if after < 0 || after > schemas.MaxChunk {
				return exit.UsageError("--after takes the number of a chunk")
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				return a.watch(command.Context(), c, args[0], after)
			})
		},
	}
	command.Flags().Int64Var(&after, "after", 0, "continue after the chunk with this `NUMBER`")
	return command
}

// watch prints what happens to a task until it has ended.
func (a *app) watch(ctx context.Context, c *client.Client, taskID string, after int64) error {
	stream, err := c.Follow(ctx, taskID, after)
	if err != nil {
		return err
	}
	defer stream.Close()
	show := a.showText
	if a.json() {
		show = func() viewer { return &lines{app: a} }
	}
	viewer := show()
	for {
		event, err := stream.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return viewer.end(stream.Task())
		case err != nil && ctx.Err() != nil:
			viewer.leave()
			a.note("interrupted: task %s is %s and runs on (reach task watch %s)", taskID, stream.Task().State, taskID)
			return exit.Said(exit.WaitEnded)
		case err != nil:
			return err
		}
		viewer.show(event)
	}
}

// viewer is a form in which events are shown.
type viewer interface {
	show(client.Event)
	leave()
	end(*schemas.Task) error
}

// lines is each event as a line of JSON.
type lines struct{ app *app }

// line is one event.
type line struct {
	Event string `json:"event"`
	Data  any    `json:"data"`
}

func (l *lines) show(event client.Event) {
	switch {
	case event.Chunk != nil:
		l.app.print(line{"chunk", event.Chunk})
	case event.Notice != nil:
		l.app.print(line{"notice", event.Notice})
	case event.Progress != nil:
		l.app.print(line{"progress", event.Progress})
	case event.Task.State.Terminal():
		l.app.print(line{"done", event.Task})
	default:
		l.app.print(line{"state", event.Task})
	}
}

func (l *lines) leave() {}

func (l *lines) end(task *schemas.Task) error {
	if task.State != schemas.StateCompleted {
		return exit.Said(exit.Failed)
	}
	return nil
}

// showText is for people: the pieces on stdout, all else on stderr.
func (a *app) showText() viewer {
	return &text{app: a, live: a.terminal(a.stderr), since: time.Now(), out: view.NewRun(a.stdout, a.seen())}
}

// text is a result as it grows. Until its first piece comes, a line says what is being waited for, if somebody watches.
type text struct {
	app   *app
	live  bool
	since time.Time
	task  *schemas.Task
	drawn bool
	out   *view.Run
}

func (t *text) show(event client.Event) {
	t.wipe()
	switch {
	case event.Chunk != nil:
		t.out.Chunk(event.Chunk)
	case event.Notice != nil:
		t.notice(event.Notice)
	case event.Task != nil:
		t.task = event.Task
	case t.task != nil:
		task := *t.task
		task.Progress = event.Progress
		t.task = &task
	}
	if t.live && t.out.Empty() && t.task != nil && !t.task.State.Terminal() {
		_, _ = fmt.Fprint(t.app.stderr, view.Waiting(t.task, time.Since(t.since)))
		t.drawn = true
	}
}

func (t *text) wipe() {
	if t.drawn {
		_, _ = fmt.Fprint(t.app.stderr, "\r\x1b[K")
		t.drawn = false
	}
}

func (t *text) notice(n *schemas.Notice) {
	switch n.Notice {
	case schemas.NoticeRestarted:
		if !t.out.Empty() {
			t.out.Break()
			t.app.note("attempt %d begins again: what came before no longer counts", n.Attempt)
		}
		t.out.Restart()
	case schemas.NoticeModeChanged:
		t.out.Break()
		t.app.note("no more pieces come; the whole result follows")
	case schemas.NoticeGap:
		t.out.Break()
		t.app.note("pieces %d to %d are no longer there; the whole result follows", n.From, n.To)
	}
}

func (t *text) leave() {
	t.wipe()
	t.out.Break()
}

// end prints the result, unless all of it stands there already. One of which no piece came is printed as if it were the only piece: an
// agent that was quick looks like one that was slow.
func (t *text) end(task *schemas.Task) error {
	t.leave()
	if task.State == schemas.StateCompleted && task.Result != nil && t.out.Empty() {
		t.out.Chunk(&schemas.Chunk{Data: task.Result})
		t.out.Break()
	}
	if task.State == schemas.StateCompleted && t.out.Makes(task.Result) {
		return nil
	}
	return t.app.ended(task)
}
