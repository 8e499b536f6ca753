package broker

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

func TestTroubleIsToldOfDroppedMessagesAlone(t *testing.T) {
	t.Parallel()
	c := &Conn{}
	heard := 0
	c.OnTrouble(func(Trouble) { heard++ })
	c.asyncError(&nats.Subscription{Subject: "reach.feed.>"}, nats.ErrSlowConsumer)
	c.asyncError(nil, nats.ErrPermissionViolation)
	if heard != 1 {
		t.Errorf("told %d times, want once", heard)
	}
}

func TestReplyErrors(t *testing.T) {
	t.Parallel()
	answer := func(code, text, body string) *nats.Msg {
		return &nats.Msg{Header: nats.Header{headerErrorCode: {code}, headerErrorText: {text}}, Data: []byte(body)}
	}
	for _, tt := range []struct {
		name  string
		reply *nats.Msg
		want  *schemas.Error
	}{
		{
			"our own error", answer("NOT_FOUND", "x", `{"code":"NOT_FOUND","message":"no such task","retryable":false}`),
			&schemas.Error{Code: schemas.NotFound, Message: "no such task"},
		},
		{"another service's error", answer("500", "out of\tmemory", ``), &schemas.Error{Code: schemas.Unknown, Message: "out of memory"}},
		{
			"a standard code without a body", answer("UNAVAILABLE", "gone", `garbage`),
			&schemas.Error{Code: schemas.Unavailable, Message: "gone", Retryable: true},
		},
	} {
		var got *schemas.Error
		if err := replyError(tt.reply); !errors.As(err, &got) {
			t.Errorf("%s: got %v", tt.name, err)
		} else if got.Code != tt.want.Code || got.Message != tt.want.Message || got.Retryable != tt.want.Retryable {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if err := replyError(&nats.Msg{Data: []byte("fine")}); err != nil {
		t.Errorf("an answer counts as %v", err)
	}
}

func TestParseTTL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"7": 7 * time.Second, "1h": time.Hour, "never": 0, "": 0} {
		if got := parseTTL(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
