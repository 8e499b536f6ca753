package httpfront

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
)

const (
	eventStreamType = "text/event-stream"
	lastEvent       = "end" // the id of the event that a stream ends with
)

type resumption struct {
	TaskPath
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that the caller has: the stream continues with the next chunk."`
	After       string `query:"after" doc:"The same for callers that cannot set a header." example:"17"`
}

// eventsAnswer is a stream of events; Body writes it.
type eventsAnswer struct {
	Location string `header:"Location" doc:"The URL of the task."`
	Body     func(huma.Context)
}

// followTask streams what happens to a task until it has ended.
func (s *server) followTask(ctx context.Context, in *resumption) (*eventsAnswer, error) {
	if err := schemas.CheckTaskID(in.ID); err != nil {
		return nil, err
	}
	after, done, err := in.position()
	if err != nil {
		return nil, err
	}
	if done {
		if _, err := s.Service.Task(ctx, s.tenant(ctx), in.ID); err != nil {
			return nil, err
		}
		return &eventsAnswer{Body: func(c huma.Context) { c.SetStatus(http.StatusNoContent) }}, nil
	}
	events, err := s.Service.Follow(ctx, s.tenant(ctx), in.ID, after)
	if err != nil {
		return nil, err
	}
	return s.stream(events, in.ID), nil
}

// position is the number of the last chunk that the caller has. done says that it has everything: a browser then stops coming back.
func (r *resumption) position() (after int64, done bool, err error) {
	text, field := r.LastEventID, "Last-Event-ID"
	if text == "" {
		text, field = r.After, "after"
	}
	switch text {
	case "":
		return front.Fresh, false, nil
	case lastEvent:
		return 0, true, nil
	}
	after, err = strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 || after > schemas.MaxChunk {
		return 0, false, badQuery(field, "the number of a chunk is expected, as it stood in the id of an event")
	}
	return after, false, nil
}

// stream answers with events, from huma's side of the house to net/http's.
func (s *server) stream(events front.Events, taskID string) *eventsAnswer {
	return &eventsAnswer{Location: "/v1/tasks/" + taskID, Body: func(c huma.Context) {
		defer events.Close()
		r, w := humachi.Unwrap(c)
		out := &eventWriter{w: w, connection: http.NewResponseController(w), timeout: s.SendTimeout}
		shorten(r.Context())
		if out.begin() != nil || r.Method == http.MethodHead {
			return
		}
		s.pass(r.Context(), events, out)
	}}
}

// pass hands events on until the last one, or until the caller leaves or the server stops. Whoever then comes back with the id of its
// last event misses nothing.
func (s *server) pass(ctx context.Context, events front.Events, out *eventWriter) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if closing, ok := ctx.Value(closingKey{}).(context.Context); ok {
		defer context.AfterFunc(closing, cancel)()
	}
	for {
		event, err := s.nextEvent(ctx, events, out)
		if err != nil || s.sendEvent(ctx, event, out) != nil {
			return
		}
	}
}

// sendEvent writes an event; the end of a task with its result, wherever that is kept.
func (s *server) sendEvent(ctx context.Context, event front.Event, out *eventWriter) error {
	if event.Task == nil || event.Task.ResultRef == nil {
		return out.event(event)
	}
	_, result, err := s.openResult(ctx, event.Task.TaskID)
	if err != nil {
		s.noteBroken(ctx, err)
		return err
	}
	defer func() { _ = result.Close() }()
	return out.large(event.Task, result)
}

// nextEvent waits for an event, and lets the caller know that it does.
func (s *server) nextEvent(ctx context.Context, events front.Events, out *eventWriter) (front.Event, error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, s.KeepAlive)
		event, err := events.Next(waiting)
		idle := err != nil && waiting.Err() != nil && ctx.Err() == nil
		cancel()
		if !idle {
			s.noteBroken(ctx, err)
			return event, err
		}
		if err := out.keepAlive(); err != nil {
			return front.Event{}, err
		}
	}
}

// noteBroken logs why a stream ends before its task has. The caller is not told: it comes back, and hears it then.
func (s *server) noteBroken(ctx context.Context, err error) {
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		s.Logger.Warn().Err(err).Msg("a stream of events was cut short")
	}
}

// eventWriter writes server-sent events. Each has its own time to be taken.
type eventWriter struct {
	w          http.ResponseWriter
	connection *http.ResponseController
	timeout    time.Duration
}

// retry is after how many milliseconds a browser that was cut off comes back.
const retry = 2000

func (e *eventWriter) begin() error {
	e.w.Header().Set("Content-Type", eventStreamType)
	e.w.Header().Set("X-Accel-Buffering", "no") // proxies are to pass events on as they come
	e.w.WriteHeader(http.StatusOK)
	return e.write("retry: " + strconv.Itoa(retry) + "\n\n")
}

func (e *eventWriter) keepAlive() error { return e.write(": keep-alive\n\n") }

// stateEvent is what an event says of a task that has not ended.
type stateEvent struct {
	TaskID  string        `json:"task_id"`
	State   schemas.State `json:"state"`
	Phase   schemas.Phase `json:"phase"`
	AgentID string        `json:"agent_id,omitzero"`
	Attempt int           `json:"attempt"`
}

// chunkEvent is a chunk; whose it is, the caller knows.
type chunkEvent struct {
	N       int64           `json:"n"`
	Attempt int             `json:"attempt"`
	Data    schemas.Payload `json:"data"`
}

// event writes one event. Only chunks and the end have an id.
func (e *eventWriter) event(event front.Event) error {
	switch {
	case event.Chunk != nil:
		c := event.Chunk
		return e.send("chunk", strconv.FormatInt(c.N, 10), chunkEvent{c.N, c.Attempt, c.Data})
	case event.Notice != nil:
		return e.send("notice", "", event.Notice)
	case event.Progress != nil:
		return e.send("progress", "", event.Progress)
	case event.Task.State.Terminal():
		return e.send("done", lastEvent, event.Task)
	}
	t := event.Task
	return e.send("state", "", stateEvent{t.TaskID, t.State, t.Phase, t.AgentID, t.Attempt})
}

// large writes the end of a task with a result that is kept apart from it.
func (e *eventWriter) large(task *schemas.Task, result io.Reader) error {
	if err := e.write("id: " + lastEvent + "\nevent: done\ndata: "); err != nil {
		return err
	}
	if err := writeTask(e.w, task, result); err != nil {
		return err
	}
	return e.write("\n\n")
}

func (e *eventWriter) send(name, id string, data any) error {
	body, err := schemas.Encode(data)
	if err != nil {
		return err
	}
	text := "event: " + name + "\ndata: " + string(body) + "\n\n"
	if id != "" {
		text = "id: " + id + "\n" + text
	}
	return e.write(text)
}

func (e *eventWriter) write(text string) error {
	// An error says that the connection has no deadlines, as in tests with a recorder.
	_ = e.connection.SetWriteDeadline(time.Now().Add(e.timeout))
	if _, err := io.WriteString(e.w, text); err != nil {
		return err
	}
	return e.connection.Flush()
}
