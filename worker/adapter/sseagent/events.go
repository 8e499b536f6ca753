package sseagent

import (
	"bytes"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/eventstream"
)

// kind is what an event is to us.
type kind int

const (
	ignoredEvent kind = iota
	chunkEvent
	progressEvent
	resultEvent
	errorEvent
	doneEvent
	plainEvent // what its data says
)

// names are those of events that have a meaning. Others are passed over: agents have pings and states of their own.
var names = map[string]kind{
	"": plainEvent, "message": plainEvent, "chunk": chunkEvent, "progress": progressEvent, "result": resultEvent,
	"error": errorEvent, "done": doneEvent, "ignore": ignoredEvent,
}

// endMark is the data of an event that ends the stream, as agents after the fashion of OpenAI write it.
var endMark = []byte("[DONE]")

func (s *stream) events() error {
	from := eventstream.NewEvents(s.answer, s.agent.max)
	for !s.said.Final() {
		event, err := from.Next()
		if err != nil {
			return err
		}
		if err := s.event(s.agent.events[event.Name], event.Data); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) event(kind kind, data []byte) error {
	if kind != ignoredEvent && bytes.Equal(answer.Trim(data), endMark) {
		kind, data = doneEvent, nil
	}
	switch kind {
	case plainEvent, chunkEvent:
		return s.data(kind, data)
	case progressEvent:
		s.progress(data)
	case resultEvent:
		s.result(data)
	case errorEvent:
		s.failed(data)
	case doneEvent:
		return s.done(data)
	}
	return nil
}

// data is a protocol line, a JSON value, or a text. Once a piece was a text all that follow are: "5" may be a word of it.
func (s *stream) data(kind kind, data []byte) error {
	if line := answer.Read(data); line.Kind != answer.Noise {
		return s.said.Take(s.ctx, line)
	}
	s.texts = s.texts || schemas.Scan(data) != nil
	value := schemas.Payload(answer.Trim(data))
	if s.texts {
		value = quoted(data)
	}
	if kind == chunkEvent {
		return s.said.Chunk(s.ctx, value)
	}
	return s.piece(value)
}

// progress is the agent's own word, or its value under progress.
func (s *stream) progress(data []byte) {
	if line := answer.Read(data); line.Kind == answer.Progress {
		data = line.Value
	}
	if schemas.Scan(data) != nil {
		data = quoted(data)
	}
	s.said.Progress(data)
}

// result is the data, or what stands under result where the input has that form.
func (s *stream) result(data []byte) {
	whole, problem := answer.Value(data)
	if problem != nil {
		s.said.Fail(&worker.Failure{Err: problem, Ran: schemas.RanYes})
		return
	}
	s.said.Result(s.agent.judge.Input.Unwrap(whole))
}

// failed is an error in whatever form: under error, as code and message, or as a text.
func (s *stream) failed(data []byte) {
	report, found := answer.ReadBody(data, true)
	if !found && schemas.Scan(data) != nil {
		data = quoted(data)
	}
	if !found {
		report, _ = answer.ReadReport(data)
	}
	base := schemas.NewError(schemas.Internal, "", "the agent reported an error without details")
	s.said.Fail(&worker.Failure{Err: answer.WithExcerpt(report.Error(base, s.task.Offer.ErrorMapping), data), Ran: schemas.RanYes})
}

// done ends the stream. Its data counts as a protocol line, and as the result where there was nothing else.
func (s *stream) done(data []byte) error {
	line := answer.Read(data)
	switch {
	case line.Kind == answer.Result || line.Kind == answer.Error:
		return s.said.Take(s.ctx, line)
	case s.said.Chunks() == 1 && s.plain != nil:
		s.said.Result(s.plain)
	case s.said.Chunks() == 0 && schemas.Scan(data) == nil:
		s.said.Result(data)
	default:
		s.said.End()
	}
	return nil
}
