package openai

import (
	"bytes"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// written is what a result's templates see.
type written struct {
	Text         string
	Model        string
	FinishReason string
	Usage        any // as the endpoint counts; nil where it does not
	Payload      any
}

// conclude makes the result of what the model wrote.
func (w *writing) conclude() (schemas.Payload, *worker.Failure) {
	if failure := w.unfit(); failure != nil {
		return nil, failure
	}
	switch {
	case w.agent.cfg.JSON:
		result, problem := answer.Value(unfenced(w.text))
		if problem != nil {
			return nil, &worker.Failure{Err: problem, Ran: schemas.RanYes}
		}
		return result, nil
	case w.agent.result == nil:
		return schemas.Payload(quoted(string(w.text))), nil
	}
	result, err := w.agent.result.fill(w.seen())
	if err != nil {
		e := schemas.NewError(schemas.Internal, schemas.ReasonProtocol, "the result cannot be made from the model's text")
		return nil, &worker.Failure{Err: answer.FromAgent(e), Ran: schemas.RanYes}
	}
	return result, nil
}

// unfit is an answer that is none.
func (w *writing) unfit() *worker.Failure {
	var e *schemas.Error
	switch {
	case w.refusal != "":
		e = schemas.NewError(schemas.FailedPrecondition, ReasonRefused, "the model refused to answer")
		e = answer.WithExcerpt(e, []byte(w.refusal))
	case w.finish == "content_filter":
		e = schemas.NewError(schemas.FailedPrecondition, ReasonRefused, "a content filter stopped the model's answer")
	case w.finish == "length" && !w.agent.cfg.Truncated:
		e = schemas.NewError(schemas.Internal, ReasonTruncated, "the model's answer was cut off at the limit of tokens")
	case len(w.text) == 0 && w.finish != "stop":
		e = schemas.NewError(schemas.Internal, schemas.ReasonProtocol, "the model's endpoint answered without text")
	default:
		return nil
	}
	return &worker.Failure{Err: answer.FromAgent(e), Ran: schemas.RanYes}
}

func (w *writing) seen() written {
	seen := written{Text: string(w.text), Model: w.model, FinishReason: w.finish}
	if w.usage != nil {
		seen.Usage, _ = valuesOf(schemas.Payload(w.usage))
	}
	if w.task.Message.Payload != nil {
		seen.Payload, _ = valuesOf(w.task.Message.Payload)
	}
	return seen
}

// unfenced is JSON that some models put into a block of code.
func unfenced(text []byte) []byte {
	inner, opened := bytes.CutPrefix(answer.Trim(text), []byte("```"))
	inner, closed := bytes.CutSuffix(inner, []byte("```"))
	if !opened || !closed {
		return text
	}
	return bytes.TrimPrefix(inner, []byte("json"))
}
