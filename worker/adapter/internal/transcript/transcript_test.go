package transcript_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheFirstFinalWordCounts(t *testing.T) {
	t.Parallel()
	type outcome struct {
		Result string
		Code   schemas.Code
		Chunks []string
		Final  bool
	}
	for _, tt := range []struct {
		name  string
		lines []string
		want  outcome
	}{
		{"nothing was said", nil, outcome{}},
		{"a chunk is not final", []string{`{"chunk":1}`}, outcome{Chunks: []string{"1"}}},
		{"a result", []string{`{"result":{"a":1.0}}`}, outcome{Result: `{"a":1.0}`, Final: true}},
		{"null", []string{`{"result":null}`}, outcome{Result: "null", Final: true}},
		{
			"null after chunks leaves them",
			[]string{`{"chunk":"a"}`, `{"result":null}`},
			outcome{Chunks: []string{`"a"`}, Final: true},
		},
		{
			"what comes after a result is not heard",
			[]string{`{"result":1}`, `{"chunk":2}`, `{"error":"x"}`},
			outcome{Result: "1", Final: true},
		},
		{
			"a mapped error",
			[]string{`{"error":{"code":"E40001"}}`, `{"result":1}`},
			outcome{Code: schemas.InvalidArgument, Final: true},
		},
		{"a result that is no JSON of ours", []string{`{"result":{"a":1,"a":2}}`}, outcome{Code: schemas.Internal, Final: true}},
		{"noise", []string{`{"level":"info"}`}, outcome{}},
	} {
		heard := new(adaptertest.Recorder)
		said := transcript.New(adaptertest.NewTask(nil), heard)
		for _, line := range tt.lines {
			if err := said.Take(t.Context(), answer.Read([]byte(line))); err != nil {
				t.Error(err)
			}
		}
		result, failure := said.Outcome()
		got := outcome{Result: string(result), Chunks: heard.Chunks(), Final: said.Final()}
		if failure != nil {
			got.Code = failure.Err.Code
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestProgressIsAnObjectOrAText(t *testing.T) {
	t.Parallel()
	heard := new(adaptertest.Recorder)
	said := transcript.New(adaptertest.NewTask(nil), heard)
	for _, raw := range []string{`{"fraction":0.5}`, `"reading"`, `7`, `{"fraction":"x"}`} {
		said.Progress([]byte(raw))
	}
	half := 0.5
	want := []schemas.Progress{{Fraction: &half}, {Message: "reading"}}
	if diff := cmp.Diff(want, heard.Heard()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAChunkForATaskThatHasEndedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(worker.ErrCanceled)
	said := transcript.New(adaptertest.NewTask(nil), &adaptertest.Recorder{Gate: make(chan struct{})})
	if err := said.Take(ctx, answer.Line{Kind: answer.Chunk, Value: []byte("1")}); !errors.Is(err, worker.ErrCanceled) {
		t.Errorf("got %v", err)
	}
}

func TestALastWordAfterACancelConfirmsIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(worker.ErrRunLimit)
	for line, want := range map[string]schemas.Code{
		`{"error":{"code":"CANCELLED"}}`: schemas.DeadlineExceeded, `{"error":{"code":"E40001"}}`: schemas.InvalidArgument,
	} {
		said := transcript.New(adaptertest.NewTask(nil), new(adaptertest.Recorder))
		_ = said.Take(ctx, answer.Read([]byte(line)))
		said.Acknowledge(ctx)
		if _, failure := said.Outcome(); failure.Err.Code != want || !failure.Confirmed {
			t.Errorf("%s: %v, confirmed %t", line, failure.Err, failure.Confirmed)
		}
	}
}
