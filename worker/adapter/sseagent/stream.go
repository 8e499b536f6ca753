package sseagent

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/eventstream"
	"github.com/agentreach/agent-reach/worker/adapter/internal/httpcall"
	"github.com/agentreach/agent-reach/worker/adapter/internal/transcript"
)

// stream is one answer while it is read.
type stream struct {
	agent  *Agent
	ctx    context.Context
	task   *worker.Task
	answer *httpcall.Answer
	said   *transcript.Transcript

	plain schemas.Payload // the first piece that had neither a name nor the form of a protocol line
	texts bool            // pieces are texts, whatever they look like
}

// read reads until the agent's final word, the end of the body, or the end of the task.
func (s *stream) read(format Format) {
	var err error
	switch format {
	case FormatSSE:
		err = s.events()
	case FormatNDJSON:
		err = s.lines()
	default:
		err = s.text()
	}
	switch {
	case s.said.Final():
	case s.ctx.Err() != nil:
		s.said.Fail(answer.Ended(s.ctx, schemas.RanUnknown, false))
	case errors.Is(err, eventstream.ErrTooLong):
		s.said.TooLarge(int64(s.agent.max))
	case errors.Is(err, io.EOF) && s.answer.Framed():
		s.ended()
	case errors.Is(err, io.EOF):
		s.said.Fail(s.answer.Broken(io.ErrUnexpectedEOF))
	default:
		s.said.Fail(s.answer.Broken(err))
	}
}

// ended is a body that is over without a final word.
func (s *stream) ended() {
	switch {
	case s.said.Chunks() == 0:
		e := schemas.NewError(schemas.Internal, schemas.ReasonProtocol, "the agent's stream ended without a result")
		s.said.Fail(&worker.Failure{Err: answer.FromAgent(e), Ran: schemas.RanYes})
	case s.said.Chunks() == 1 && s.plain != nil:
		s.said.Result(s.plain)
	default:
		s.said.End()
	}
}

func (s *stream) lines() error {
	from := eventstream.NewLines(s.answer, s.agent.max)
	for !s.said.Final() {
		line, err := from.Next()
		if err != nil {
			return err
		}
		if err := s.line(bytes.TrimPrefix(line, []byte{recordSeparator})); err != nil {
			return err
		}
	}
	return nil
}

// recordSeparator stands before each value of application/json-seq.
const recordSeparator = 0x1e

func (s *stream) line(raw []byte) error {
	if len(answer.Trim(raw)) == 0 {
		return nil
	}
	if line := answer.Read(raw); line.Kind != answer.Noise {
		return s.said.Take(s.ctx, line)
	}
	value, problem := answer.Value(raw)
	if problem != nil {
		s.said.Fail(&worker.Failure{Err: problem, Ran: schemas.RanYes})
		return nil
	}
	return s.piece(value)
}

// piece is a chunk that the agent did not call one.
func (s *stream) piece(value schemas.Payload) error {
	if s.plain == nil {
		s.plain = value
	}
	return s.said.Chunk(s.ctx, value)
}

// text passes on whatever has come, cut between characters.
func (s *stream) text() error {
	piece := make([]byte, 32<<10)
	held := 0 // bytes at the beginning of piece: a character of which the rest is to come
	for {
		n, err := s.answer.Read(piece[held:])
		ready := wholeCharacters(piece[:held+n])
		if err != nil {
			ready = held + n
		}
		if ready > 0 {
			if problem := s.said.Chunk(s.ctx, quoted(piece[:ready])); problem != nil {
				return problem
			}
		}
		held = copy(piece, piece[ready:held+n])
		if err != nil {
			return err
		}
	}
}
