package subprocess

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/redact"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
	"github.com/agentreach/agent-reach/worker/adapter/internal/process"
)

// maxQuote bounds what an error's message quotes of a line.
const maxQuote = 128

// perTask runs one task in a process of its own and returns when nothing of that is left.
func (a *Agent) perTask(ctx context.Context, task *worker.Task, emit worker.Emit) (schemas.Payload, *worker.Failure) {
	if ctx.Err() != nil {
		return nil, answer.Ended(ctx, schemas.RanNo, false)
	}
	log := a.cfg.Logger.With().Str("task_id", task.ID()).Logger()
	emit.Hop(schemas.HopAdapterRequest)
	p, err := process.Start(a.command, a.cfg.Dir, process.Environment(os.Environ(), a.cfg.Env, taskVariables(task)), log)
	if err != nil {
		return nil, cannotStart(err)
	}
	defer context.AfterFunc(ctx, func() { p.Stop(a.cfg.KillAfter) })()
	p.Go(func() { feed(p, pieces.Payload(task)) })
	heard := a.listen(ctx, p, emit)
	end := p.Wait()
	emit.Hop(schemas.HopAgentDone)
	return heard.judge(ctx, end, p.Chat.LastWords(), task.Offer.ErrorMapping)
}

// cannotStart tells what the system said, without the path.
func cannotStart(err error) *worker.Failure {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return answer.Unreached("the agent's program cannot be started: %s", err)
}

// feed writes the whole of stdin: the payload as one line. A program need not read it.
func feed(p *process.Process, payload schemas.Payload) {
	_, _ = pieces.Of(payload).WriteLine(p.Stdin)
	_ = p.Stdin.Close()
}

// listen reads what the program says until it says no more. Once it has answered it has KillAfter to exit.
func (a *Agent) listen(ctx context.Context, p *process.Process, emit worker.Emit) *heard {
	h := &heard{chat: p.Chat, limit: a.cfg.MaxLine}
	from := process.NewLines(p.Output(), a.cfg.MaxLine)
	for {
		line, tooLong, err := from.Next()
		switch {
		case err != nil:
			return h
		case tooLong:
			h.tooLong = true
			p.Stop(a.cfg.KillAfter)
			from.Discard()
			return h
		}
		if h.take(ctx, line, emit) {
			time.AfterFunc(a.cfg.KillAfter, func() { p.Stop(a.cfg.KillAfter) }) // does nothing to one that has exited
		}
	}
}

// heard is what a program of its own has said so far.
type heard struct {
	chat  *process.Chatter
	limit int

	result  jsontext.Value // of the first result line
	failed  jsontext.Value // of the first error line
	tooLong bool           // a line went over limit
	spoke   bool           // there was a protocol line
	chunks  int
	plain   []byte // the first line that was neither blank nor protocol
	others  int    // further ones
}

// take sorts one line in, and reports whether it was the answer.
func (h *heard) take(ctx context.Context, raw []byte, emit worker.Emit) bool {
	line := answer.Read(raw)
	if line.Kind == answer.Noise {
		h.noise(raw)
		return false
	}
	h.spoke = true
	if h.result != nil || h.failed != nil {
		return false // who has answered has no more to say
	}
	switch line.Kind {
	case answer.Result:
		h.result = line.Value
	case answer.Error:
		h.failed = line.Value
	case answer.Chunk:
		h.chunks++
		_ = emit.Chunk(ctx, schemas.Payload(line.Value)) // fails only when the task has ended, and then ctx has
		return false
	case answer.Progress:
		passOn(emit, line.Value)
		return false
	}
	return true
}

func (h *heard) noise(raw []byte) {
	if len(answer.Trim(raw)) == 0 {
		return
	}
	h.chat.Note(process.Stdout, raw)
	if h.plain == nil {
		h.plain = raw
		return
	}
	h.others++
}

// passOn emits a progress that can be read.
func passOn(emit worker.Emit, value jsontext.Value) {
	var progress schemas.Progress
	if schemas.Decode(value, &progress) == nil {
		emit.Progress(progress)
	}
}

// judge decides what it all means. An error line beats the exit code, the exit code beats a result; but a program that was stopped
// by us had no say in how it ended, so that its answer counts.
func (h *heard) judge(
	ctx context.Context, end process.Exit, lastWords string, mapping map[string]schemas.Code,
) (schemas.Payload, *worker.Failure) {
	stopped := end.Told && (end.Signaled || end.Code != 0)
	switch {
	case h.failed != nil:
		failure := answer.Reported(h.failed, mapping)
		if ctx.Err() != nil {
			failure = answer.Acknowledged(ctx, failure)
		}
		return nil, failure
	case h.tooLong:
		return nil, tooLarge(h.limit)
	case end.Code != 0 && !stopped:
		return nil, exited(end, lastWords, mapping)
	case h.result != nil:
		return conclude(h.result, h.chunks)
	case ctx.Err() != nil && (stopped || h.plain == nil):
		failure := answer.Ended(ctx, schemas.RanUnknown, !end.Killed)
		failure.Stopped = true
		return nil, failure
	}
	return h.unspoken(lastWords)
}

// unspoken is the answer of a program that ended well without a result line.
func (h *heard) unspoken(lastWords string) (schemas.Payload, *worker.Failure) {
	switch {
	case h.chunks > 0:
		return nil, nil
	case h.spoke || h.plain == nil:
		return nil, h.silent(lastWords)
	case h.others > 0:
		e := schemas.NewError(schemas.Internal, schemas.ReasonProtocol,
			"the agent printed %d lines, none of them a protocol line; the first is %q", h.others+1, redact.Excerpt(h.plain, maxQuote))
		return nil, &worker.Failure{Err: answer.WithExcerpt(answer.FromAgent(e), h.plain), Ran: schemas.RanYes}
	}
	return conclude(h.plain, 0)
}

func (h *heard) silent(lastWords string) *worker.Failure {
	e := schemas.NewError(schemas.Internal, schemas.ReasonProtocol, "the agent ended without a result")
	if lastWords != "" {
		e.With("stderr", lastWords)
	}
	return &worker.Failure{Err: answer.WithExcerpt(answer.FromAgent(e), h.plain), Ran: schemas.RanYes}
}

// conclude is a result as the agent gave it. A null at the end of a stream of chunks leaves those to be the result.
func conclude(raw []byte, chunks int) (schemas.Payload, *worker.Failure) {
	result, problem := answer.Value(raw)
	switch {
	case problem != nil:
		return nil, &worker.Failure{Err: problem, Ran: schemas.RanYes}
	case chunks > 0 && string(result) == "null":
		return nil, nil
	}
	return result, nil
}

func tooLarge(limit int) *worker.Failure {
	return &worker.Failure{Err: answer.TooLarge(int64(limit), int64(limit)+1), Ran: schemas.RanYes}
}
