package httpfront

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
)

// spokenAnswer is what a handler writes itself.
type spokenAnswer struct {
	TaskHeaders
	Body func(huma.Context)
}

// speak is an answer with its task, and the task's result where that is kept apart from it: it is passed on as it is read.
func (s *server) speak(ctx context.Context, a *taskAnswer, err error) (*spokenAnswer, error) {
	if err != nil {
		return nil, err
	}
	var result io.ReadCloser
	if a.Body.ResultRef != nil && a.Status != http.StatusNotModified {
		if _, result, err = s.openResult(ctx, a.Body.TaskID); err != nil {
			return nil, err
		}
	}
	return &spokenAnswer{a.TaskHeaders, func(c huma.Context) {
		if result != nil {
			defer func() { _ = result.Close() }()
		}
		if a.Status == http.StatusNotModified {
			c.SetStatus(a.Status)
			return
		}
		c.SetHeader("Content-Type", jsonType)
		c.SetStatus(a.Status) // which sends the headers
		if err := writeTask(c.BodyWriter(), a.Body, result); err != nil {
			panic(http.ErrAbortHandler) // the caller must not take the beginning for all of it
		}
	}}, nil
}

// openResult opens the result of a task, as soon as there is memory to read it.
func (s *server) openResult(ctx context.Context, taskID string) (*schemas.Task, io.ReadSeekCloser, error) {
	task, result, err := s.Service.Result(ctx, s.tenant(ctx), taskID)
	if err != nil || task.ResultRef == nil {
		return task, result, err
	}
	result, err = s.bounded(ctx, min(task.ResultRef.Bytes, readingCost), result)
	return task, result, err
}

// bounded is a body once there is memory to read it; Close gives that back.
func (s *server) bounded(ctx context.Context, cost int64, body io.ReadSeekCloser) (io.ReadSeekCloser, error) {
	release, err := s.reading.hold(ctx, cost)
	if err != nil {
		_ = body.Close()
		return nil, err
	}
	return held{body, release}, nil
}

// held is a body that takes memory while it is read.
type held struct {
	io.ReadSeekCloser
	release func()
}

func (h held) Close() error {
	defer h.release()
	return h.ReadSeekCloser.Close()
}

// writeTask writes a task as one line of JSON, with a result that is kept apart from it.
func writeTask(w io.Writer, task *schemas.Task, result io.Reader) error {
	bare := *task
	if result != nil {
		bare.ResultRef = nil
	}
	return writeWith(w, &bare, "result", result)
}

// writeWith writes an object as one line of JSON, with a last member that is read from elsewhere; nil is none.
func writeWith(w io.Writer, object any, member string, value io.Reader) error {
	if value == nil {
		return marshal(w, object)
	}
	body, err := schemas.Encode(object)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.MultiReader(
		bytes.NewReader(body[:len(body)-1]), strings.NewReader(`,"`+member+`":`), oneLine{value}, strings.NewReader("}"),
	))
	return err
}

// oneLine reads JSON with blanks in place of its newlines, which stand between its tokens alone.
type oneLine struct{ io.Reader }

func (l oneLine) Read(into []byte) (int, error) {
	n, err := l.Reader.Read(into)
	for i, c := range into[:n] {
		if c == '\n' || c == '\r' {
			into[i] = ' '
		}
	}
	return n, err
}

// resultAnswer is a result alone; Body writes it.
type resultAnswer struct {
	ETag string `header:"ETag" doc:"Identifies this result."`
	Body func(huma.Context)
}

// resultWish names a result, and how long to wait for it.
type resultWish struct {
	TaskPath
	Patience
	Range string `header:"Range" doc:"The bytes to return, as in RFC 9110." example:"bytes=0-1048575"`
}

// getResult is the result of a task and nothing else, whole or in ranges. A task that has none answers with its error.
func (s *server) getResult(ctx context.Context, in *resultWish) (*resultAnswer, error) {
	if err := schemas.CheckTaskID(in.ID); err != nil {
		return nil, err
	}
	task, err := s.wait(ctx, in.ID, in.orElse(0, s.WaitMax))
	switch {
	case err != nil:
		return nil, err
	case task.State.Terminal() && task.State != schemas.StateCompleted:
		return nil, taskProblem(task)
	}
	task, result, err := s.openResult(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	tag := etag(task)
	if task.ResultRef != nil {
		tag = strconv.Quote(task.ResultRef.SHA256)
	}
	return &resultAnswer{ETag: tag, Body: func(c huma.Context) {
		defer func() { _ = result.Close() }()
		r, w := humachi.Unwrap(c)
		w.Header().Set("ETag", tag)
		serveRanges(w, r, task.FinishedAt.Time, result)
	}}, nil
}
