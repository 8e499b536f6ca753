package broker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// no is how JetStream refuses a publish.
func no(status, code int, description string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"err_code":%d,"description":%q},"stream":"REACH","seq":0}`, status, code, description)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		reply    string
		err      error
		want     verdictKind
		sequence uint64
	}{
		{"an acknowledgement", `{"stream":"REACH","seq":12}`, nil, isStored, 12},
		{"one with a domain", `{"stream":"REACH","domain":"hub","seq":12}`, nil, isStored, 12},
		{"one with more after it", `{"stream":"REACH","seq":12,"duplicate":true}`, nil, isStored, 12},
		{"one written with spaces", `{"stream": "REACH", "seq": 12 }`, nil, isStored, 12},
		{"one without a sequence", `{"stream":"REACH","seq":0}`, nil, isUnclear, 0},
		{"what is not JSON", `+OK`, nil, isUnclear, 0},
		{"nothing", ``, nil, isUnclear, 0},
		{
			"another last sequence", no(400, 10071, "wrong last sequence: 7"), nil, isMismatch, 7,
		},
		{"no last sequence", no(400, 10071, "wrong last sequence: 0"), nil, isMismatch, 0},
		{"a last sequence that is not told", no(400, 10071, "wrong last sequence"), nil, isBusy, 0},
		{"another write on its way", no(400, 10164, "wrong last sequence"), nil, isBusy, 0},
		{"a full account", no(400, 10002, "resource limits exceeded for account"), nil, isRefused, 0},
		{"a full store", no(503, 10077, "maximum bytes exceeded"), nil, isRefused, 0},
		{"too large", no(400, 10054, "message size exceeds maximum allowed"), nil, isRefused, 0},
		{"no TTL allowed", no(400, 10166, "per-message TTL is disabled"), nil, isRefused, 0},
		{"no leader", no(503, 10008, "JetStream system temporarily unavailable"), nil, isUnsent, 0},
		{"too many at once", no(429, 10167, "too many requests"), nil, isUnsent, 0},
		{"no answer in time", "", context.DeadlineExceeded, isUnclear, 0},
		{"nobody there", "", ErrNoResponders, isUnclear, 0},
		{"the connection lost", "", ErrDisconnected, isUnclear, 0},
		{"no connection to begin with", "", errUnsent, isUnsent, 0},
		{"a size that the client refuses", "", errTooLarge(2, 1), isRefused, 0},
	} {
		got := judge(&nats.Msg{Data: []byte(tt.reply)}, tt.err)
		if got.kind != tt.want || got.sequence != tt.sequence {
			t.Errorf("%s: got %d at %d (%v), want %d at %d", tt.name, got.kind, got.sequence, got.err, tt.want, tt.sequence)
		}
		if failed := got.kind != isStored; failed != (got.err != nil) {
			t.Errorf("%s: the error is %v", tt.name, got.err)
		}
	}
}

func TestFullLedgerIsRetryable(t *testing.T) {
	t.Parallel()
	v := (&apiError{Status: 400, Code: 10023, Description: "insufficient resources"}).verdict()
	var e *schemas.Error
	if !errors.As(v.err, &e) || e.Code != schemas.ResourceExhausted || e.Reason != schemas.ReasonLedgerFull || !e.Retryable {
		t.Errorf("got %v", v.err)
	}
}

func TestUnresolved(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		name    string
		last    verdict
		doubt   bool
		unknown bool
	}{
		{"it never left", verdict{kind: isUnsent, err: errUnsent}, false, false},
		{"an earlier try may be there", verdict{kind: isUnsent, err: errUnsent}, true, true},
		{"others were always on their way", verdict{kind: isBusy, err: errors.New("busy")}, false, false},
		{"the refusal could not be looked into", verdict{kind: isMismatch, err: errors.New("mismatch")}, false, true},
		{"the last answer was lost", verdict{kind: isUnclear, err: context.DeadlineExceeded}, true, true},
	} {
		if err := unresolved(ended, tt.last, tt.doubt); errors.Is(err, ErrUnknownOutcome) != tt.unknown {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}

func TestWhatIsTriedTooLateNeverLeaves(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancelCause(context.Background())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := (&Conn{nc: new(nats.Conn)}).store(ended, put{header: nats.Header{}}); !errors.Is(err, stopped) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v, want that it was stopped, and a known outcome", err)
	}
	if pause(ended, 0) {
		t.Error("it goes on, as its time is over and so is the pause")
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	again := newBackoff()
	for i := range 20 {
		if d := again.delay(isBusy); d < 5*time.Millisecond || d > 50*time.Millisecond {
			t.Errorf("busy: %s", d)
		}
		if d := again.delay(isUnclear); d < firstPause/2 || d > longestPause || i > 8 && d < longestPause/2 {
			t.Errorf("unclear %d: %s", i, d)
		}
	}
}

func TestWholeSeconds(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{
		-time.Hour: time.Second, 0: time.Second, 1: time.Second, time.Second: time.Second, 1001 * time.Millisecond: 2 * time.Second,
		time.Hour: time.Hour,
	} {
		if got := wholeSeconds(ttl); got != want {
			t.Errorf("%s became %s, want %s", ttl, got, want)
		}
	}
}
