//go:build unix

package subprocess_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/subprocess"
)

// answering is a shell loop that runs body for each line, with its task_id in $id.
func answering(body string) []string {
	return shell(`while IFS= read -r line; do id=${line#*\"task_id\":\"}; id=${id%%\"*}; ` + body + `; done`)
}

// keptAlive is a child with a directory of its own.
func keptAlive(t *testing.T, cfg subprocess.Config) (*subprocess.Agent, string) {
	t.Helper()
	cfg.KeepAlive = true
	cfg.Dir = t.TempDir()
	return newAgent(t, cfg), cfg.Dir
}

func TestTheChildGetsTheMessage(t *testing.T) {
	t.Parallel()
	agent, dir := keptAlive(t, subprocess.Config{
		Command: answering(`echo "$line" >>lines; env >env; printf '{"task_id":"%s","result":null}\n' "$id"`),
	})
	task := adaptertest.NewTask([]byte("{\n \"id\": 9007199254740993 }"))
	result, err := agent.Handle(t.Context(), task, new(adaptertest.Recorder))
	if err != nil || string(result) != "null" {
		t.Fatalf("got %q, %v", []byte(result), err)
	}
	want := `{"task_id":"` + task.ID() + `","capability":"echo","attempt":1,"deadline":"` + schemas.At(task.Deadline).String() +
		`","payload":{  "id": 9007199254740993 }}`
	if diff := cmp.Diff(want, waitFor(t, filepath.Join(dir, "lines"))); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	if env := waitFor(t, filepath.Join(dir, "env")); strings.Contains(env, "REACH_") || strings.Contains(env, "TRACEPARENT") {
		t.Errorf("the child's environment names a task:\n%s", env)
	}
}

func TestOnlyLinesThatNameTheTaskCount(t *testing.T) {
	t.Parallel()
	for _, noise := range []string{
		`{"result":1}`, `{"task_id":"other","result":1}`, `{"task_id":"$id"}`, `{"task_id":"$id","result":1`, `{"level":"info"}`,
		`{"task_id":"$id","result":1,"error":2}`, ``, `text`, `{"task_id":null,"result":1}`, `["$id"]`,
	} {
		t.Run(noise, func(t *testing.T) {
			t.Parallel()
			said := strings.ReplaceAll(strings.ReplaceAll(noise, `"`, `\"`), `\"$id\"`, `\"$id\"`)
			agent, _ := keptAlive(t, subprocess.Config{
				Command: answering(`echo "` + said + `"; printf '{"task_id":"%s","result":2}\r\n' "$id"`),
			})
			if got := run(t, agent, `{}`, nil); got.Result != "2" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestALateLineIsNobodys(t *testing.T) {
	t.Parallel()
	agent, _ := keptAlive(t, subprocess.Config{Command: answering(
		`printf '{"task_id":"%s","result":"late"}\n' "$old"; printf '{"task_id":"%s","result":"mine"}\n' "$id"; ` +
			`printf '{"task_id":"%s","chunk":"more"}\n' "$id"; old=$id`,
	)})
	for range 3 {
		if got := run(t, agent, `{}`, nil); got.Result != `"mine"` || len(got.Chunks) > 0 {
			t.Errorf("got %+v", got)
		}
	}
}

func TestTheTasksOfADeadChildMayHaveRun(t *testing.T) {
	t.Parallel()
	agent, dir := keptAlive(t, subprocess.Config{Command: answering(
		`if [ -e once ]; then printf '{"task_id":"%s","result":"fresh"}\n' "$id"; else touch once; echo oops >&2; exit 7; fi`,
	)})
	want := outcome{
		Code: schemas.Unavailable, Reason: schemas.ReasonConnectionLost, Ran: schemas.RanUnknown, AgentCode: "exit_7", Stderr: "oops",
	}
	if diff := cmp.Diff(want, run(t, agent, `{}`, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := run(t, agent, `{}`, nil); got.Result != `"fresh"` {
		t.Errorf("the next task: %+v in %s", got, dir)
	}
}

func TestAnAnswerBeforeTheDeathCounts(t *testing.T) {
	t.Parallel()
	agent, dir := keptAlive(t, subprocess.Config{
		RestartMax: 20 * time.Millisecond, Command: answering(`echo $$ >pid; printf '{"task_id":"%s","result":1}' "$id"; exit 1`),
	})
	for range 4 {
		if got := run(t, agent, `{}`, nil); got.Result != "1" {
			t.Errorf("got %+v", got)
		}
		gone(t, waitFor(t, filepath.Join(dir, "pid"))) // or the next task might be written to a child that will not read it
	}
}

func TestDeathsInARowPutOffTheNextStart(t *testing.T) {
	t.Parallel()
	agent, dir := keptAlive(t, subprocess.Config{
		RestartAfter: time.Hour, RestartMax: 2 * time.Hour, Command: shell(`echo x >>starts; read -r line`),
	})
	if got := run(t, agent, `{}`, nil); got.Ran != schemas.RanUnknown {
		t.Errorf("first: %+v", got)
	}
	_, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(`{}`)), new(adaptertest.Recorder))
	failure := failureOf(t, err)
	wait := failure.Err.RetryAfterMS
	if failure.Ran != schemas.RanNo || !failure.Err.Retryable || wait < 3_590_000 || wait > 3_600_000 {
		t.Errorf("second: %v, ran %s, after %d ms", failure.Err, failure.Ran, wait)
	}
	if err := agent.Health(t.Context()); err == nil {
		t.Error("it is well while it is dead")
	}
	if starts := waitFor(t, filepath.Join(dir, "starts")); starts != "x" {
		t.Errorf("it was started %d times", strings.Count(starts, "x"))
	}
}

func TestHealthStartsTheChild(t *testing.T) {
	t.Parallel()
	agent, dir := keptAlive(t, subprocess.Config{Command: shell(`echo $$ >>pid; while read -r line; do :; done`)})
	for range 2 {
		if err := agent.Health(t.Context()); err != nil {
			t.Error(err)
		}
	}
	pid := waitFor(t, filepath.Join(dir, "pid"))
	agent.Close()
	if _, err := strconv.Atoi(pid); err != nil {
		t.Errorf("it was started more than once: %s", pid)
	}
	gone(t, pid)
	if err := agent.Health(t.Context()); err == nil {
		t.Error("it is well after Close")
	}
}

func TestLinesOfAChildAreAsLongAsTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	// The line is {"task_id":"…","result":"…"}, 62 bytes around the text.
	agent, dir := keptAlive(t, subprocess.Config{MaxLine: limit, Command: answering(
		`echo x >>tasks; n=${line##*:}; n=${n%\}}; ` +
			`printf '{"task_id":"%s","result":"' "$id"; head -c "$n" /dev/zero | tr '\0' x; printf '"}\n'`,
	)})
	for _, line := range []int{65_535, 65_536, 65_537, limit - 1, limit, limit + 1, 2 * limit, 100} {
		got := run(t, agent, strconv.Itoa(line-62), nil)
		if line > limit {
			if got.Reason != schemas.ReasonResultTooLarge || got.Ran != schemas.RanYes {
				t.Errorf("line of %d bytes: %+v", line, got)
			}
			continue
		}
		if len(got.Result) != line-60 {
			t.Errorf("line of %d bytes: a result of %d, %s %s", line, len(got.Result), got.Code, got.Reason)
		}
	}
	if tasks := strings.Count(waitFor(t, filepath.Join(dir, "tasks")), "x"); tasks != 8 {
		t.Errorf("the agent saw %d tasks, want 8", tasks)
	}
}

func TestAnEndlessLineEndsTheChildAndNoMore(t *testing.T) {
	t.Parallel()
	agent, _ := keptAlive(t, subprocess.Config{MaxLine: 1 << 16, Command: answering(
		`if [ -e once ]; then printf '{"task_id":"%s","result":1}\n' "$id"; ` +
			`else touch once; printf '{"task_id":"%s","result":"' "$id"; exec tr '\0' x </dev/zero; fi`,
	)})
	if got := run(t, agent, `{}`, nil); got.Reason != schemas.ReasonResultTooLarge {
		t.Errorf("got %+v", got)
	}
	if got := run(t, agent, `{}`, nil); got.Result != "1" {
		t.Errorf("the next task: %+v", got)
	}
}

// TestALongLineOfNobodyEndsTheChild: with two tasks in it and no name in the line, none of them can be told from the other.
func TestALongLineOfNobodyEndsTheChild(t *testing.T) {
	t.Parallel()
	agent, _ := keptAlive(t, subprocess.Config{MaxLine: 1000, Command: shell(
		`read -r a; read -r b; printf '{"result":"'; head -c 2000 /dev/zero | tr '\0' x; printf '"}\n'; sleep 60`,
	)})
	got := make(chan outcome)
	for range 2 {
		go func() { got <- run(t, agent, `{}`, nil) }()
	}
	for range 2 {
		if o := <-got; o.Reason != schemas.ReasonConnectionLost || o.Ran != schemas.RanUnknown {
			t.Errorf("got %+v", o)
		}
	}
}

// TestADeafChildIsReplaced: it takes half of a large task and no more. Whoever comes after must not wait for ever.
func TestADeafChildIsReplaced(t *testing.T) {
	t.Parallel()
	agent, dir := keptAlive(t, subprocess.Config{
		KillAfter: 100 * time.Millisecond,
		Command: shell(`if [ ! -e once ]; then touch once; head -c 1000 >/dev/null; echo yes >ready; exec sleep 60; fi; ` +
			strings.Join(answering(`printf '{"task_id":"%s","result":"fresh"}\n' "$id"`)[2:], "")),
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	first, second := make(chan error, 1), make(chan outcome, 1)
	go func() {
		payload := `"` + strings.Repeat("x", 1<<20) + `"`
		_, err := agent.Handle(ctx, adaptertest.NewTask([]byte(payload)), new(adaptertest.Recorder))
		first <- err
	}()
	waitFor(t, filepath.Join(dir, "ready"))
	go func() { second <- run(t, agent, `{}`, nil) }()
	cancel(worker.ErrRunLimit)
	if failure := failureOf(t, <-first); failure.Err.Code != schemas.DeadlineExceeded || failure.Ran != schemas.RanUnknown {
		t.Errorf("first: %v, ran %s", failure.Err, failure.Ran)
	}
	if got := <-second; got.Result != `"fresh"` {
		t.Errorf("second: %+v", got)
	}
}

// TestABusyChildIsLeftAlone: a task that waits behind another may end unheard; the other one goes on.
func TestABusyChildIsLeftAlone(t *testing.T) {
	t.Parallel()
	agent, dir := keptAlive(t, subprocess.Config{
		KillAfter: 50 * time.Millisecond,
		Command:   answering(`echo yes >ready; while [ ! -e go ]; do sleep 0.01; done; printf '{"task_id":"%s","result":1}\n' "$id"`),
	})
	first := make(chan outcome, 1)
	go func() { first <- run(t, agent, `{}`, nil) }()
	waitFor(t, filepath.Join(dir, "ready"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	payload := `"` + strings.Repeat("x", 1<<20) + `"`
	_, err := agent.Handle(ctx, adaptertest.NewTask([]byte(payload)), new(adaptertest.Recorder))
	if failure := failureOf(t, err); failure.Err.Code != schemas.DeadlineExceeded || failure.Confirmed {
		t.Errorf("second: %v, confirmed %t", failure.Err, failure.Confirmed)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-first; got.Result != "1" {
		t.Errorf("first: %+v", got)
	}
}

func TestOneTaskIsNotTwiceInAChild(t *testing.T) {
	t.Parallel()
	agent, dir := keptAlive(t, subprocess.Config{Command: answering(`echo yes >ready`)})
	task := adaptertest.NewTask([]byte(`{}`))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first sync.WaitGroup
	first.Go(func() { _, _ = agent.Handle(ctx, task, new(adaptertest.Recorder)) })
	waitFor(t, filepath.Join(dir, "ready"))
	_, err := agent.Handle(t.Context(), task, new(adaptertest.Recorder))
	if failure := failureOf(t, err); failure.Err.Reason != schemas.ReasonBusy || failure.Ran != schemas.RanNo {
		t.Errorf("got %v, ran %s", failure.Err, failure.Ran)
	}
	cancel()
	first.Wait()
}

// TestAReaderThatLeavesFreesTheOthers: lines of one task wait for its reader; when the task is over, they are dropped.
func TestAReaderThatLeavesFreesTheOthers(t *testing.T) {
	t.Parallel()
	agent, _ := keptAlive(t, subprocess.Config{KillAfter: 50 * time.Millisecond, Command: answering(
		`case $line in *stream*) i=0; while [ $i -lt 100 ]; do printf '{"task_id":"%s","chunk":%d}\n' "$id" $i; i=$((i+1)); done;; ` +
			`*) printf '{"task_id":"%s","result":1}\n' "$id";; esac`,
	)})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stuck := &adaptertest.Recorder{Gate: make(chan struct{})}
	first := make(chan error, 1)
	go func() {
		_, err := agent.Handle(ctx, adaptertest.NewTask([]byte(`"stream"`)), stuck)
		first <- err
	}()
	stuck.Gate <- struct{}{}
	cancel(worker.ErrCanceled)
	if failure := failureOf(t, <-first); failure.Err.Code != schemas.Cancelled {
		t.Errorf("first: %v", failure.Err)
	}
	if got := run(t, agent, `{}`, nil); got.Result != "1" {
		t.Errorf("second: %+v", got)
	}
}
