package desk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	jitter "math/rand/v2"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// The waits of what is sent again.
const (
	firstWait = 50 * time.Millisecond
	mostWait  = 2 * time.Second
)

// deliver brings a begin, a result or a release to any dispatcher: the same bytes until one has the last word, or ctx ends.
func (p *place) deliver(ctx context.Context, subject string, v any) (schemas.Answer, error) {
	body, err := schemas.Encode(v)
	if err != nil {
		return schemas.Answer{}, schemas.AsError(err)
	}
	var answer schemas.Answer
	result := subject == broker.SubjectFinish(p.agentID)
	err = insist(ctx, func() (bool, error) {
		answer, err = p.once(ctx, subject, body)
		if code := schemas.AsError(err); result && code != nil && code.Code == schemas.Internal {
			err = unreachable() // that one dispatcher fails at a result says nothing of the next
		}
		return answer.Outcome != schemas.OutcomeTryAgain, err
	})
	if err == nil {
		p.learn(answer.Sequence)
	}
	return answer, err
}

// insist asks until there is an answer, or an error that no repeat changes, or ctx ends.
func insist(ctx context.Context, ask func() (answered bool, err error)) error {
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		answered, err := ask()
		if err == nil && answered || isFinal(err) {
			return err
		}
		pause := time.NewTimer(wait/2 + jitter.N(wait/2+1))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return unreachable()
		}
	}
}

func (p *place) once(ctx context.Context, subject string, body []byte) (answer schemas.Answer, err error) {
	reply, err := p.desk.conn.RequestWithin(ctx, p.desk.cfg.RequestTimeout, subject, body)
	if err != nil {
		return answer, asRefusal(err)
	}
	if err := schemas.Decode(reply, &answer); err != nil {
		return answer, unreachable()
	}
	return answer, nil
}

// asRefusal is a dispatcher's error as it is; that none has answered is UNAVAILABLE.
func asRefusal(err error) *schemas.Error {
	var e *schemas.Error
	if errors.As(err, &e) {
		return e
	}
	return unreachable()
}

// isFinal reports whether no repeat changes an error.
func isFinal(err error) bool {
	var e *schemas.Error
	return errors.As(err, &e) && !e.Retryable
}

// stepID names what an agent says of an attempt without giving it a name of its own: the same again is the same. What follows from it may be
// written under that name as the next assignment of the task, so another attempt's is another, by whichever agent.
func stepID(verb, taskID string, token uint64) string {
	return writeID(fmt.Sprintf("%s\x00%d", verb, token), taskID)
}

// writeID names a write so that the same request makes the same; without a name of the request it is random.
func writeID(request, taskID string) string {
	if request == "" {
		request = rand.Text()
	}
	sum := sha256.Sum256([]byte(request + "\x00" + taskID))
	return hex.EncodeToString(sum[:16])
}
