// Package transcript keeps what an agent says of one task on a transport that carries several messages: chunks and progress go on
// to the worker as they come, the first result or error ends it.
package transcript

import (
	"context"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// Transcript is what was said so far. It belongs to one goroutine.
type Transcript struct {
	mapping map[string]schemas.Code
	emit    worker.Emit

	chunks  int
	final   bool
	result  schemas.Payload
	failure *worker.Failure
}

// New is the transcript of a task of which nothing was said yet.
func New(task *worker.Task, emit worker.Emit) *Transcript {
	return &Transcript{mapping: task.Offer.ErrorMapping, emit: emit}
}

// Take sorts one protocol line in. Noise is nothing. It may block while nobody wants more chunks; its error says that the task
// has ended. After the final word nothing is taken any more.
func (t *Transcript) Take(ctx context.Context, line answer.Line) error {
	switch line.Kind {
	case answer.Result:
		t.Result(line.Value)
	case answer.Error:
		t.Fail(answer.Reported(line.Value, t.mapping))
	case answer.Chunk:
		return t.Chunk(ctx, schemas.Payload(line.Value))
	case answer.Progress:
		t.Progress(line.Value)
	}
	return nil
}

// Chunk passes on one piece of the result, as Take does.
func (t *Transcript) Chunk(ctx context.Context, data schemas.Payload) error {
	if t.final {
		return nil
	}
	t.chunks++
	return t.emit.Chunk(ctx, data)
}

// Progress passes on how far the agent is, if that can be read: an object with fraction and message, or a text.
func (t *Transcript) Progress(raw []byte) {
	var progress schemas.Progress
	if t.final || schemas.Decode(raw, &progress) != nil && schemas.Decode(raw, &progress.Message) != nil {
		return
	}
	t.emit.Progress(progress)
}

// Result ends it with a result as the agent gave it. A null at the end of a stream of chunks leaves those to be the result.
func (t *Transcript) Result(raw []byte) {
	result, problem := answer.Value(raw)
	switch {
	case problem != nil:
		t.Fail(&worker.Failure{Err: problem, Ran: schemas.RanYes})
	case t.chunks > 0 && string(result) == "null":
		t.End()
	default:
		t.end(result, nil)
	}
}

// End ends it without a result of the agent's own: the chunks are the result.
func (t *Transcript) End() { t.end(nil, nil) }

// Fail ends it with a failure.
func (t *Transcript) Fail(failure *worker.Failure) { t.end(nil, failure) }

// TooLarge ends it, as the agent said more at once than limit bytes.
func (t *Transcript) TooLarge(limit int64) {
	t.Fail(&worker.Failure{Err: answer.TooLarge(limit, limit+1), Ran: schemas.RanYes})
}

func (t *Transcript) end(result schemas.Payload, failure *worker.Failure) {
	if !t.final {
		t.final, t.result, t.failure = true, result, failure
	}
}

// Acknowledge makes an error that came after ctx had ended the agent's word that it has stopped.
func (t *Transcript) Acknowledge(ctx context.Context) {
	if t.failure != nil {
		t.failure = answer.Acknowledged(ctx, t.failure)
	}
}

// Final reports whether the final word was said.
func (t *Transcript) Final() bool { return t.final }

// Chunks is how many there were.
func (t *Transcript) Chunks() int { return t.chunks }

// Outcome is the final word. A nil result leaves the chunks to be the result.
func (t *Transcript) Outcome() (schemas.Payload, *worker.Failure) { return t.result, t.failure }
