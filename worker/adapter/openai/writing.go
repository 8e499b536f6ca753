package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/eventstream"
	"github.com/agentreach/agent-reach/worker/adapter/internal/httpcall"
)

// Reasons that only a model gives.
const (
	ReasonContextLength = "CONTEXT_LENGTH_EXCEEDED" // the messages are longer than the model can read
	ReasonTruncated     = "OUTPUT_TRUNCATED"        // the answer ended at the model's limit
	ReasonRefused       = "REFUSED"                 // the model, or a filter around it, does not answer
)

// completion is an answer of the endpoint, or one piece of it.
type completion struct {
	Model   string         `json:"model"`
	Choices []choice       `json:"choices"`
	Usage   jsontext.Value `json:"usage"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        part   `json:"delta"`
	Message      part   `json:"message"`
	FinishReason string `json:"finish_reason"`
}

type part struct {
	Content jsontext.Value `json:"content"`
	Refusal string         `json:"refusal"`
}

// writing is one answer while the model writes it.
type writing struct {
	agent  *Agent
	ctx    context.Context
	task   *worker.Task
	emit   worker.Emit
	answer *httpcall.Answer

	text    []byte
	refusal string
	finish  string // why the model stopped; "" while it has not
	model   string
	usage   jsontext.Value
}

// eventRoom is what an event may hold beside the text.
const eventRoom = 64 << 10

// read takes in the answer, streamed or whole.
func (w *writing) read() *worker.Failure {
	media, _, _ := mime.ParseMediaType(w.answer.Header.Get("Content-Type"))
	if media != "text/event-stream" {
		return w.whole()
	}
	events := eventstream.NewEvents(w.answer, w.agent.cfg.MaxResult+eventRoom)
	for {
		event, err := events.Next()
		switch {
		case err == nil && bytes.Equal(answer.Trim(event.Data), []byte("[DONE]")):
			return nil
		case err == nil:
			if failure := w.piece(event.Data); failure != nil {
				return failure
			}
		case errors.Is(err, eventstream.ErrTooLong):
			return w.tooLarge()
		case errors.Is(err, io.EOF) && w.finish != "":
			return nil // the end mark is missing, but the model had stopped
		case errors.Is(err, io.EOF):
			return w.answer.Broken(io.ErrUnexpectedEOF)
		default:
			return w.answer.Broken(err)
		}
	}
}

// whole is an answer in one piece.
func (w *writing) whole() *worker.Failure {
	reply, failure := w.answer.Whole(int64(w.agent.cfg.MaxResult + eventRoom))
	if failure != nil {
		return failure
	}
	if reply.Size > int64(w.agent.cfg.MaxResult+eventRoom) {
		return w.tooLarge()
	}
	return w.take(reply.Body, func(c choice) part { return c.Message })
}

func (w *writing) piece(data []byte) *worker.Failure {
	return w.take(data, func(c choice) part { return c.Delta })
}

// take reads one object of the endpoint: what stands in its choices where said finds it, or an error.
func (w *writing) take(data []byte, said func(choice) part) *worker.Failure {
	if report, found := answer.ReadBody(data, false); found {
		base := schemas.NewError(schemas.Internal, "", "the model's endpoint reported an error in its answer")
		e := answer.WithExcerpt(report.Error(base, w.task.Offer.ErrorMapping), data)
		return &worker.Failure{Err: e, Ran: schemas.RanYes}
	}
	var c completion
	if err := schemas.Decode(data, &c); err != nil {
		e := schemas.NewError(schemas.Internal, schemas.ReasonProtocol, "the model's endpoint does not answer like chat completions: is the endpoint the part before /chat/completions of its address?")
		return &worker.Failure{Err: answer.WithExcerpt(answer.FromAgent(e), data), Ran: schemas.RanYes}
	}
	if c.Model != "" {
		w.model = c.Model
	}
	if c.Usage.Kind() == '{' {
		w.usage = c.Usage
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if choice.FinishReason != "" {
			w.finish = choice.FinishReason
		}
		if failure := w.write(said(choice)); failure != nil {
			return failure
		}
	}
	return nil
}

// write adds what the model wrote, and passes it on.
func (w *writing) write(p part) *worker.Failure {
	w.refusal += p.Refusal
	if p.Content.Kind() != '"' || len(p.Content) == len(`""`) {
		return nil
	}
	text, err := jsontext.AppendUnquote(w.text, p.Content)
	if err != nil {
		return nil // it was decoded before, so it is a string
	}
	w.text = text
	if len(w.text) > w.agent.cfg.MaxResult {
		return w.tooLarge()
	}
	if w.agent.cfg.JSON || w.agent.cfg.NoStream {
		return nil
	}
	if w.emit.Chunk(w.ctx, schemas.Payload(p.Content)) != nil {
		return answer.Ended(w.ctx, schemas.RanUnknown, false)
	}
	return nil
}

func (w *writing) tooLarge() *worker.Failure {
	limit := int64(w.agent.cfg.MaxResult)
	return &worker.Failure{Err: answer.TooLarge(limit, limit+1), Ran: schemas.RanYes}
}
