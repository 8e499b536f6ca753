package worker

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

func TestWhatChunksMake(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		chunks []string
		want   string
		reason string
	}{
		{"none is null", nil, `null`, ""},
		{"strings are joined", []string{`"Ships "`, `"sail."`}, `"Ships sail."`, ""},
		{"escapes stay as they were written", []string{`"\u00e9\n"`, ` "\"" `}, `"\u00e9\n\""`, ""},
		{"a number makes a list", []string{`"a"`, `1.0`}, `["a",1.0]`, ""},
		{"objects make a list", []string{`{"a":1}`, `{"b":9007199254740993}`}, `[{"a":1},{"b":9007199254740993}]`, ""},
		{"a chunk that is no JSON", []string{`"a"`, `"b`}, ``, schemas.ReasonNotJSON},
		{"an empty chunk", []string{``}, ``, schemas.ReasonNotJSON},
		{"as much as fits", []string{quoted(49), quoted(49)}, quoted(98), ""},
		{"one byte more", []string{quoted(50), quoted(49)}, ``, schemas.ReasonResultTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAccount("laptop-1", 100, time.Now, func() {})
			for _, chunk := range tt.chunks {
				if err := a.Chunk(t.Context(), schemas.Payload(chunk)); err != nil {
					t.Fatal(err)
				}
			}
			got, large, err := a.joined()
			if large != nil {
				t.Error("little is kept in a file")
			}
			if string(got) != tt.want || reasonOf(err) != tt.reason {
				t.Errorf("got %s, %v; want %s %s", []byte(got), err, tt.want, tt.reason)
			}
			if a.chunks.count != len(tt.chunks) {
				t.Errorf("counted %d", a.chunks.count)
			}
		})
	}
}

// quoted is a JSON string of n letters.
func quoted(n int) string { return `"` + strings.Repeat("x", n) + `"` }

func reasonOf(err error) string {
	var e *schemas.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

func TestASizeIsNamed(t *testing.T) {
	t.Parallel()
	c := chunks{limit: 10}
	for range 5 {
		c.add(schemas.Payload(`"12345"`), false)
	}
	_, _, err := c.join()
	var size, limit int
	if e := schemas.AsError(err); !e.Detail("size_bytes", &size) || !e.Detail("limit_bytes", &limit) || size != 27 || limit != 10 {
		t.Errorf("got %v, with sizes %d and %d", err, size, limit)
	}
	if c.kept != nil {
		t.Error("it keeps what can never be sent")
	}
}

func TestManyChunksAreKeptInAFile(t *testing.T) {
	t.Parallel()
	const count = 30_000
	piece := strings.Repeat("é\\n", 20)
	for name, tt := range map[string]struct{ odd, want string }{
		"strings make one":                {`"` + piece + `"`, `"` + strings.Repeat(piece, count) + `"`},
		"anything else makes them a list": {`1.0`, `[` + strings.Repeat(`"`+piece+`",`, count-1) + `1.0]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := chunks{limit: 128 << 20}
			for range count - 1 {
				c.add(schemas.Payload(` "`+piece+`"`), false)
			}
			c.add(schemas.Payload(tt.odd), false)
			defer c.drop()
			_, large, err := c.join()
			if err != nil || large == nil || c.kept != nil || large.size != int64(len(tt.want)) {
				t.Fatalf("%d are kept in memory, a result of %d is kept in %+v (%v)", len(c.kept), len(tt.want), large, err)
			}
			for range 2 {
				var got bytes.Buffer
				if _, err := large.WriteTo(&got); err != nil || got.String() != tt.want {
					t.Errorf("the result is another, of %d bytes (%v)", got.Len(), err)
				}
			}
		})
	}
}

func TestNothingIsHeardAfterTheEnd(t *testing.T) {
	t.Parallel()
	a := newAccount("laptop-1", 100, time.Now, func() {})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrCanceled)
	if err := a.Chunk(ctx, schemas.Payload(`1`)); !errors.Is(err, ErrCanceled) {
		t.Errorf("a chunk after the context's end: %v", err)
	}
	a.close()
	if err := a.Chunk(t.Context(), schemas.Payload(`1`)); err == nil {
		t.Error("a chunk after the handler's return was taken")
	}
	a.Hop("late")
	a.Progress(schemas.Progress{Message: "late"})
	progress, hops := a.soFar()
	if progress != nil || len(hops) != 1 || hops[0].Hop != schemas.HopAgentDone {
		t.Errorf("progress %v, hops %v", progress, hops)
	}
}

func TestHopsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	a := newAccount("laptop-1", 100, func() time.Time { now = now.Add(time.Millisecond); return now }, func() {})
	a.Hop(schemas.HopAdapterRequest)
	a.Hop(schemas.HopAdapterRequest)
	a.Hop(schemas.HopFirstChunk)
	a.Hop(schemas.HopFirstChunk)
	_, hops := a.soFar()
	if len(hops) != 2 || hops[0].At.Nanosecond() != 2e6 || hops[1].At.Nanosecond() != 3e6 {
		t.Errorf("hops are %v, want the last request and the first chunk", hops)
	}
	for i := range 1000 {
		a.Hop(strings.Repeat("x", 60) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)))
	}
	if _, hops = a.soFar(); len(hops) > schemas.MaxHops {
		t.Errorf("%d hops", len(hops))
	}
}

func TestProgressIsMadeFit(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]float64{"NaN": math.NaN(), "infinite": math.Inf(1), "negative": -3} {
		a := newAccount("laptop-1", 100, time.Now, func() {})
		a.Progress(schemas.Progress{Fraction: &given, Message: "\xff" + strings.Repeat("é", 2000)})
		progress, _ := a.soFar()
		if _, err := schemas.Encode(progress); err != nil || len(progress.Message) > schemas.MaxProgressMessage {
			t.Errorf("%s: %v, %d bytes of message", name, err, len(progress.Message))
		}
		if progress.Fraction != nil && (*progress.Fraction < 0 || *progress.Fraction > 1) {
			t.Errorf("%s: fraction %v", name, *progress.Fraction)
		}
	}
}
