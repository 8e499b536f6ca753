package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// Subject is one adapter, in one of its forms, with an agent behind it.
type Subject struct {
	// Start runs a fresh agent that obeys, with the adapter in front of it. Both have ended when the test's cleanup has run. Answers
	// are limited to maxResult bytes; timers are as short as the adapter allows. The adapter reaches its agent's host:port by
	// what via makes of it; an agent without one has no network between.
	Start func(t *testing.T, maxResult int, via Via) Agent

	// StartCurt is Start with an adapter that hardly waits until a stop is acknowledged, for agents that do not do so; Start, if it is nil.
	// Then the adapter of Start may wait for as long as a busy machine takes.
	StartCurt func(t *testing.T, maxResult int, via Via) Agent

	Streams  bool // chunks pass, and progress but for texts
	Text     bool // what the agent says is one text, in pieces or not: each is a string, and the result all of them
	Confirms bool // the agent acknowledges a stop

	Buffers int // more bytes than what lies between agent and adapter can hold; 0: more than two sockets do
	Held    int // how many times the size of a payload, and a result of that size, an adapter takes beside the payload; 0: once; -1: no such body fits
}

// Via is the address by which an adapter reaches an agent.
type Via func(address string) string

func direct(address string) string { return address }

// Agent is a Handler and what runs behind it.
type Agent struct {
	Handler worker.Handler
	Restart func() // ends the agent and starts it again; nil where each task has its own
}

const (
	resultLimit = 64 << 10         // bytes of an answer, everywhere in the suite
	patience    = 20 * time.Second // for what should take milliseconds
	sockets     = 8 << 20          // bytes that no two sockets hold
)

// Run is the suite. What an adapter leaves behind is counted for the whole process, before the other cases begin: the test that calls
// it, and those around that, are not parallel to any others.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Run("nothing is left of it", func(t *testing.T) { leakFree(t, s.curt()) })
	t.Run("a large body is held once", func(t *testing.T) { large(t, s) })
	for name, test := range map[string]func(*bench){
		"a result comes back as the agent wrote it":          results,
		"numbers stay what they were":                        numbers,
		"an agent's own code is mapped and kept":             errorCodes,
		"the details of an error survive":                    errorDetails,
		"chunks and progress come before the result":         stream,
		"a slow reader holds the agent up and loses nothing": slow,
		"a cancel reaches the agent":                         cancelled,
		"the run limit reaches the agent":                    runLimit,
		"a task that is over before it starts never runs":    stillborn,
		"an answer over the limit fails, the next one works": oversize,
		"an answer that breaks off may have done anything":   broken,
		"tasks side by side do not mix":                      concurrent,
		"an agent that was started again serves on":          restarted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newBench(t, s, direct))
		})
	}
	for name, test := range map[string]func(*bench){
		"an agent that ignores a cancel does not hold us up": ignored,
		"garbage is no result":                               garbage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newBench(t, s.curt(), direct))
		})
	}
	t.Run("an agent whose host vanishes holds nobody up", func(t *testing.T) {
		t.Parallel()
		vanished(t, s.curt())
	})
}

// curt is s with an adapter that hardly waits until a stop is acknowledged.
func (s Subject) curt() Subject {
	if s.StartCurt != nil {
		s.Start = s.StartCurt
	}
	return s
}

// leakFree has an agent do tasks of every kind of end, and closes it: no goroutine, no open file and no process stays.
func leakFree(t *testing.T, s Subject) {
	before := takeStock()
	t.Run("from its start to its end", func(t *testing.T) { used(t, s) })
	before.restored(t)
}

// used is an agent from its start to its end, with tasks that end well, badly, early and not at all.
func used(t *testing.T, s Subject) {
	b, between := newBenchApart(t, s)
	b.works()
	for _, do := range []string{DoFail, DoStream, DoGarbage, DoOversize, DoBreak} {
		b.ends(Order{Do: do, Count: 20, Size: resultLimit + 1, Value: schemas.Payload(`1`)})
	}
	_ = b.stopWith(DoWait, worker.ErrCanceled)
	b.logAnew()
	_ = b.stopWith(DoWait, worker.ErrRunLimit)
	if between == nil {
		return
	}
	b.logAnew()
	_ = b.stopAfter(Order{Do: DoWait}, worker.ErrRunLimit, between.vanish)
	between.comeBack()
	b.worksAgain()
}

// ends gives one order to its end, whatever that is.
func (b *bench) ends(order Order) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, _ = b.give(ctx, order)
}

// logAnew has later tasks noted where nothing is noted yet.
func (b *bench) logAnew() { b.log += "-later" }

func newBench(t *testing.T, s Subject, via Via) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{
		T: t, subject: s, agent: s.Start(t, resultLimit, via),
		log: filepath.Join(dir, "log"), gate: filepath.Join(dir, "gate"),
	}
	t.Cleanup(func() { _ = os.WriteFile(b.gate, nil, 0o600) })
	return b
}

// newBenchApart is a bench whose agent is behind a network; nil where there is none between.
func newBenchApart(t *testing.T, s Subject) (b *bench, between *network) {
	t.Helper()
	b = newBench(t, s, func(address string) string {
		between = newNetwork(t, address)
		return between.listener.Addr().String()
	})
	return b, between
}

// bench is one test with its own agent.
type bench struct {
	*testing.T
	subject Subject
	agent   Agent
	log     string // written by the agent
	gate    string // where it appears, waiting agents answer
}

// give runs one order to its end.
func (b *bench) give(ctx context.Context, order Order) (string, *Recorder, error) {
	heard := new(Recorder)
	result, err := b.agent.Handler.Handle(ctx, b.task(order), heard)
	return b.said(string(result)), heard, err
}

// said is a result or a chunk without what the transport has made of it.
func (b *bench) said(value string) string {
	var text string
	if !b.subject.Text || schemas.Decode([]byte(value), &text) != nil {
		return value
	}
	return text
}

// wantChunks holds what was heard against what the agent has said; of texts only the whole is sure.
func (b *bench) wantChunks(heard *Recorder, want []string) {
	b.Helper()
	got := heard.Chunks()
	for n := range got {
		got[n] = b.said(got[n])
	}
	if b.subject.Text {
		got, want = []string{strings.Join(got, "")}, []string{strings.Join(want, "")}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("chunks (-want +got):\n%.2000s", diff)
	}
}

func (b *bench) task(order Order) *worker.Task {
	order.Log, order.Gate = b.log, b.gate
	return NewTask(schemas.MustEncode(&order))
}

// works checks that the agent answers an ordinary task.
func (b *bench) works() {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	got, _, err := b.give(ctx, Order{Do: DoEcho, Value: schemas.Payload(`{"still":"here"}`)})
	if err != nil || got != `{"still":"here"}` {
		b.Fatalf("an ordinary task afterwards: %q, %v", got, err)
	}
}

// worksAgain checks that the agent answers soon. The first tasks may go out on a connection that is only then found to be dead.
func (b *bench) worksAgain() {
	b.Helper()
	eventually(b.T, "an ordinary task to be answered again", func() bool {
		ctx, cancel := context.WithTimeout(b.Context(), patience)
		defer cancel()
		got, _, err := b.give(ctx, Order{Do: DoEcho, Value: schemas.Payload(`{"still":"here"}`)})
		return err == nil && got == `{"still":"here"}`
	})
}

// logged waits until the agent has noted it, for any task.
func (b *bench) logged(what string) {
	b.Helper()
	eventually(b.T, "the agent to note "+what, func() bool {
		said, _ := os.ReadFile(b.log)
		return strings.Contains(string(said), what+" ")
	})
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// failure is the *worker.Failure in err.
func (b *bench) failure(err error) *worker.Failure {
	b.Helper()
	var failure *worker.Failure
	if !errors.As(err, &failure) {
		b.Fatalf("got %v, want a *worker.Failure", err)
	}
	return failure
}

func results(b *bench) {
	for _, value := range []string{
		`{"summary":"Ships sail."}`, `null`, `true`, `""`, `[]`, `{"":{"a":[1,[2,[3]]]}}`, `"<b>&\u00e9\/é\n\ud83d\ude00 "`,
	} {
		got, heard, err := b.give(b.Context(), Order{Do: DoEcho, Value: schemas.Payload(value)})
		if err != nil || got != value {
			b.Errorf("got %q, %v, want %q", got, err, value)
		}
		if diff := cmp.Diff([]string{schemas.HopAdapterRequest, schemas.HopAgentDone}, heard.Hops()); diff != "" {
			b.Errorf("hops (-want +got):\n%s", diff)
		}
	}
}

func numbers(b *bench) {
	const value = `[9007199254740993,9223372036854775807,18446744073709551615,0.1,1.0,1e2,-0,` +
		`1234567890123456789.012345678901234567890,1e400,1E-7]`
	got, _, err := b.give(b.Context(), Order{Do: DoEcho, Value: schemas.Payload(value)})
	if err != nil || got != value {
		b.Errorf("got %s, %v, want %s", got, err, value)
	}
}

func errorCodes(b *bench) {
	for _, tt := range []struct {
		name, code string
		want       schemas.Code
	}{
		{"a mapped code", "E40001", schemas.InvalidArgument},
		{"a standard code", "NOT_FOUND", schemas.NotFound},
		{"a code that nobody knows", "E99", schemas.Internal},
		{"no code", "", schemas.Internal},
	} {
		_, _, err := b.give(b.Context(), Order{Do: DoFail, Code: tt.code, Message: "text is empty"})
		failure := b.failure(err)
		if failure.Err.Code != tt.want || failure.Err.Message != "text is empty" || failure.Ran != schemas.RanYes {
			b.Errorf("%s: got %v, ran %s, want %s", tt.name, failure.Err, failure.Ran, tt.want)
		}
		var raw, origin string
		if failure.Err.Detail("agent_code", &raw); raw != tt.code {
			b.Errorf("%s: agent_code is %q, want %q", tt.name, raw, tt.code)
		}
		if failure.Err.Detail("origin", &origin); origin != "agent" {
			b.Errorf("%s: origin is %q", tt.name, origin)
		}
	}
}

func errorDetails(b *bench) {
	details := schemas.Payload(`{"field":"text","n":[1]}`)
	_, _, err := b.give(b.Context(), Order{Do: DoFail, Code: "E1", Message: "no", Details: details})
	e := b.failure(err).Err
	if field, n := string(e.Details["field"]), string(e.Details["n"]); field != `"text"` || n != "[1]" {
		b.Errorf("details are field %s, n %s", field, n)
	}
}

func stream(b *bench) {
	if !b.subject.Streams {
		b.Skip("the transport carries no chunks")
	}
	const count = 100
	got, heard, err := b.give(b.Context(), Order{Do: DoStream, Count: count, Value: schemas.Payload(`{"n":100}`)})
	var want []string
	for n := range count {
		want = append(want, fmt.Sprint(n+1))
	}
	whole := `{"n":100}`
	if b.subject.Text { // the result is a piece like the others
		want = append(want, whole)
		whole = strings.Join(want, "")
	}
	if err != nil || got != whole {
		b.Fatalf("got %s, %v", got, err)
	}
	b.wantChunks(heard, want)
	half := 0.5
	if diff := cmp.Diff([]schemas.Progress{{Fraction: &half, Message: "half"}}, heard.Heard()); diff != "" && !b.subject.Text {
		b.Errorf("progress (-want +got):\n%s", diff)
	}
}

// slow has an agent say more than any buffer between takes, to somebody who does not listen yet.
func slow(b *bench) {
	if !b.subject.Streams {
		b.Skip("the transport carries no chunks")
	}
	if b.subject.Text { // all of it is the result
		b.agent = b.subject.Start(b.T, 2*sockets, direct)
	}
	const size = 32 << 10
	count := sockets / size
	if b.subject.Buffers > 0 {
		count = b.subject.Buffers / size
	}
	heard := &Recorder{Gate: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := b.agent.Handler.Handle(b.Context(), b.task(Order{Do: DoFlood, Count: count, Size: size, Value: schemas.Payload(`1`)}), heard)
		ended <- err
	}()
	b.logged("begun")
	select {
	case err := <-ended:
		b.Fatalf("the task ended while nobody read: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if said, _ := os.ReadFile(b.log); strings.Contains(string(said), "flooded ") {
		b.Error("the agent said all that it had to say while nobody read")
	}
	close(heard.Gate)
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	var want []string
	for n := range count {
		want = append(want, string(floodChunk(n+1, size)))
	}
	if b.subject.Text {
		want = append(want, "1")
	}
	b.wantChunks(heard, want)
}

// stopWith ends a task with cause once the agent is at it, and returns how it failed.
func (b *bench) stopWith(do string, cause error) *worker.Failure {
	b.Helper()
	return b.stopAfter(Order{Do: do}, cause, func() {})
}

// stopAfter does something before that.
func (b *bench) stopAfter(order Order, cause error, before func()) *worker.Failure {
	b.Helper()
	ctx, cancel := context.WithCancelCause(b.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		_, _, err := b.give(ctx, order)
		ended <- err
	}()
	b.logged("begun")
	before()
	cancel(cause)
	return b.failure(<-ended)
}

func cancelled(b *bench) {
	failure := b.stopWith(DoWait, worker.ErrCanceled)
	if failure.Err.Code != schemas.Cancelled || failure.Confirmed != b.subject.Confirms || failure.Ran == schemas.RanNo {
		b.Errorf("got %v, ran %s, confirmed %t", failure.Err, failure.Ran, failure.Confirmed)
	}
	b.logged("stopped")
	b.works()
}

func runLimit(b *bench) {
	failure := b.stopWith(DoWait, worker.ErrRunLimit)
	if failure.Err.Code != schemas.DeadlineExceeded || failure.Err.Reason != schemas.ReasonRunLimit ||
		failure.Confirmed != b.subject.Confirms || failure.Ran == schemas.RanNo {
		b.Errorf("got %v, ran %s, confirmed %t", failure.Err, failure.Ran, failure.Confirmed)
	}
	b.logged("stopped")
	b.works()
}

func ignored(b *bench) {
	failure := b.stopWith(DoIgnore, worker.ErrCanceled)
	if failure.Err.Code != schemas.Cancelled || failure.Confirmed || failure.Ran != schemas.RanUnknown {
		b.Errorf("got %v, ran %s, confirmed %t", failure.Err, failure.Ran, failure.Confirmed)
	}
	b.works()
}

func stillborn(b *bench) {
	ctx, cancel := context.WithCancelCause(b.Context())
	cancel(worker.ErrCanceled)
	_, _, err := b.give(ctx, Order{Do: DoEcho})
	if failure := b.failure(err); failure.Ran != schemas.RanNo || failure.Err.Code != schemas.Cancelled {
		b.Errorf("got %v, ran %s", failure.Err, failure.Ran)
	}
	if said, _ := os.ReadFile(b.log); len(said) > 0 {
		b.Errorf("the agent noted %q", said)
	}
}

func oversize(b *bench) {
	_, _, err := b.give(b.Context(), Order{Do: DoOversize, Size: resultLimit + 1})
	failure := b.failure(err)
	if failure.Err.Code != schemas.ResourceExhausted || failure.Err.Reason != schemas.ReasonResultTooLarge ||
		failure.Err.Retryable || failure.Ran != schemas.RanYes {
		b.Errorf("got %v (%s), retryable %t, ran %s", failure.Err, failure.Err.Reason, failure.Err.Retryable, failure.Ran)
	}
	var limit, size int
	failure.Err.Detail("limit_bytes", &limit)
	failure.Err.Detail("size_bytes", &size)
	if limit != resultLimit || size <= resultLimit {
		b.Errorf("limit_bytes is %d, size_bytes %d", limit, size)
	}
	b.works()
	if got, _, err := b.give(b.Context(), Order{Do: DoOversize, Size: resultLimit / 2}); err != nil || len(got) != resultLimit/2 {
		b.Errorf("half the limit: %d bytes, %v", len(got), err)
	}
}

func garbage(b *bench) {
	if b.subject.Text {
		b.Skip("any text is a result")
	}
	got, failure := b.garbled(time.Second)
	if got != "" || failure.Ran == schemas.RanNo {
		b.Errorf("got %q, %v, ran %s", got, failure.Err, failure.Ran)
	}
	b.works()
}

// garbled is what becomes of a task whose agent answers with garbage; a transport that is shared waits for more. Where the task has not even
// reached the agent in that time, it is given more.
func (b *bench) garbled(within time.Duration) (got string, _ *worker.Failure) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), within)
	defer cancel()
	got, _, err := b.give(ctx, Order{Do: DoGarbage})
	failure := b.failure(err)
	if failure.Ran == schemas.RanNo && ctx.Err() != nil && within < patience {
		return b.garbled(4 * within)
	}
	return got, failure
}

func broken(b *bench) {
	_, _, err := b.give(b.Context(), Order{Do: DoBreak})
	failure := b.failure(err)
	if failure.Err.Code != schemas.Unavailable || failure.Ran != schemas.RanUnknown {
		b.Errorf("got %v, ran %s", failure.Err, failure.Ran)
	}
	b.works()
}

func concurrent(b *bench) {
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			want := fmt.Sprintf(`{"n":%d}`, n)
			for range 2 {
				got, _, err := b.give(b.Context(), Order{Do: DoEcho, Value: schemas.Payload(want)})
				if err != nil || got != want {
					b.Errorf("got %s, %v, want %s", got, err, want)
				}
			}
		})
	}
	all.Wait()
}

func restarted(b *bench) {
	if b.agent.Restart == nil {
		b.Skip("each task has an agent of its own")
	}
	b.works()
	b.agent.Restart()
	b.works()
}

// vanished has an agent's host go away without a word, and come back: what was open stays open, and nothing comes any more. The task
// that it had ends with its run limit, and what comes later reaches the agent again.
func vanished(t *testing.T, s Subject) {
	b, between := newBenchApart(t, s)
	if between == nil {
		t.Skip("it has no network between")
	}
	b.works()
	b.logAnew()
	failure := b.stopAfter(Order{Do: DoWait}, worker.ErrRunLimit, between.vanish)
	if failure.Err.Code != schemas.DeadlineExceeded || failure.Confirmed || failure.Ran != schemas.RanUnknown {
		b.Errorf("got %v, ran %s, confirmed %t", failure.Err, failure.Ran, failure.Confirmed)
	}
	between.comeBack()
	b.worksAgain()
}
