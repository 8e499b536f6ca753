//go:build unix

package subprocess_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/subprocess"
)

// outcome is what a test looks at: the result, or the failure.
type outcome struct {
	Result    string
	Code      schemas.Code
	Reason    string
	Ran       schemas.Ran
	AgentCode string
	Stderr    string
	Chunks    []string
}

func outcomeOf(t *testing.T, result schemas.Payload, err error, heard *adaptertest.Recorder) outcome {
	t.Helper()
	o := outcome{Result: string(result), Chunks: heard.Chunks()}
	if err == nil {
		return o
	}
	failure := failureOf(t, err)
	o.Code, o.Reason, o.Ran = failure.Err.Code, failure.Err.Reason, failure.Ran
	failure.Err.Detail("agent_code", &o.AgentCode)
	failure.Err.Detail("stderr", &o.Stderr)
	return o
}

func failureOf(t *testing.T, err error) *worker.Failure {
	t.Helper()
	var failure *worker.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a *worker.Failure", err)
	}
	return failure
}

// shell is a script as an agent.
func shell(script string) []string { return []string{"/bin/sh", "-c", script} }

// run gives one task with that payload to the agent.
func run(t *testing.T, agent worker.Handler, payload string, mapping map[string]schemas.Code) outcome {
	t.Helper()
	task := adaptertest.NewTask([]byte(payload))
	task.Offer.ErrorMapping = mapping
	heard := new(adaptertest.Recorder)
	result, err := agent.Handle(t.Context(), task, heard)
	return outcomeOf(t, result, err, heard)
}

func TestWhatAProgramMaySay(t *testing.T) {
	t.Parallel()
	protocol := outcome{Code: schemas.Internal, Reason: schemas.ReasonProtocol, Ran: schemas.RanYes}
	mapping := map[string]schemas.Code{"exit_4": schemas.NotFound, "exit_137": schemas.ResourceExhausted, "E1": schemas.OutOfRange}
	for _, tt := range []struct {
		name, script string
		want         outcome
	}{
		{"a result line", `echo '{"result":{"n":1.0}}'`, outcome{Result: `{"n":1.0}`}},
		{"one JSON line of a program that knows nothing of us", `echo '{"n":1.0}'`, outcome{Result: `{"n":1.0}`}},
		{"the same without a newline", `printf '[1e2]'`, outcome{Result: `[1e2]`}},
		{"the same among blank lines", `printf '\n  \r\n"x"\n\n'`, outcome{Result: `"x"`}},
		{"the same with a byte order mark and CRLF", `printf '\357\273\277{"a":1}\r\n'`, outcome{Result: `{"a":1}`}},
		{
			"a banner, blanks, text and a JSON log line around a result line",
			`printf 'v1.2\n\nloading\n{"level":"info"}\n{"result":1}\nbye\n'`,
			outcome{Result: `1`},
		},
		{"a result line with a byte order mark", `printf '\357\273\277{"result":2}\r\n'`, outcome{Result: `2`}},
		{"a result line without a newline", `printf 'x\n{"result":3}'`, outcome{Result: `3`}},
		{"a result line with other members", `echo '{"id":7,"result":4}'`, outcome{Result: `4`}},
		{"a result that is null", `echo '{"result":null}'`, outcome{Result: `null`}},
		{"a second result, which comes too late", `printf '{"result":1}\n{"result":2}\n'`, outcome{Result: `1`}},
		{
			"chunks and a result", `printf '{"chunk":"a"}\n{"chunk":"b"}\n{"result":"ab"}\n'`,
			outcome{Result: `"ab"`, Chunks: []string{`"a"`, `"b"`}},
		},
		{"chunks alone", `printf '{"chunk":"a"}\n{"chunk":"b"}\n'`, outcome{Chunks: []string{`"a"`, `"b"`}}},
		{"chunks and a null", `printf '{"chunk":"a"}\n{"result":null}\n'`, outcome{Chunks: []string{`"a"`}}},
		{"a line of two kinds is noise", `printf '{"result":1,"error":"x"}\n{"result":2}\n'`, outcome{Result: `2`}},

		{"two plain lines", `printf '{"level":"info"}\n{"n":1}\n'`, protocol},
		{"nothing at all", `true`, protocol},
		{
			"nothing but words on stderr", `echo 'no model is loaded' >&2`,
			outcome{Code: schemas.Internal, Reason: schemas.ReasonProtocol, Ran: schemas.RanYes, Stderr: "no model is loaded"},
		},
		{"a progress and a plain line", `printf '{"progress":{"fraction":0.5}}\n{"n":1}\n'`, protocol},
		{"one line that is not JSON", `echo hello`, outcome{Code: schemas.Internal, Reason: schemas.ReasonNotJSON, Ran: schemas.RanYes}},
		{
			"a result beyond the limits on JSON", `echo '{"result":[1e99999]}'`,
			outcome{Code: schemas.Internal, Reason: schemas.ReasonNotJSON, Ran: schemas.RanYes},
		},

		{
			"an exit code, whatever was printed", `echo '{"result":1}'; echo oops >&2; exit 3`,
			outcome{Code: schemas.Internal, Ran: schemas.RanYes, AgentCode: "exit_3", Stderr: "oops"},
		},
		{"a mapped exit code", `exit 4`, outcome{Code: schemas.NotFound, Ran: schemas.RanYes, AgentCode: "exit_4"}},
		{
			"an error line beats the exit code", `echo '{"error":{"code":"E1","message":"m"}}'; exit 4`,
			outcome{Code: schemas.OutOfRange, Ran: schemas.RanYes, AgentCode: "E1"},
		},
		{"an error line and a good exit", `echo '{"error":"it broke"}'`, outcome{Code: schemas.Internal, Ran: schemas.RanYes}},
		{"an error line that says nothing", `echo '{"error":null}'`, outcome{Code: schemas.Internal, Ran: schemas.RanYes}},
		{
			"a death by signal may have done anything", `kill -TERM $$`,
			outcome{Code: schemas.Unavailable, Reason: schemas.ReasonConnectionLost, Ran: schemas.RanUnknown, AgentCode: "exit_143"},
		},
		{
			"a mapped death by signal", `kill -KILL $$`,
			outcome{Code: schemas.ResourceExhausted, Ran: schemas.RanUnknown, AgentCode: "exit_137"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			agent := newAgent(t, subprocess.Config{Command: shell(tt.script)})
			if diff := cmp.Diff(tt.want, run(t, agent, `{}`, mapping)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAProtocolErrorQuotesTheFirstLine(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, subprocess.Config{Command: shell(`echo "server v1.2 \"beta\""; echo '{"n":1}'`)})
	_, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(`{}`)), new(adaptertest.Recorder))
	want := `INTERNAL: the agent printed 2 lines, none of them a protocol line; the first is "server v1.2 \"beta\""`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestStdinIsOneLine(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, subprocess.Config{Command: shell(`IFS= read -r line; cat >&2; printf '{"result":%s}' "$line"`)})
	got := run(t, agent, "{\n  \"text\": \"a\\nb\",\r\n  \"n\": [1.0, 9007199254740993]\n}", nil)
	if want := (outcome{Result: `{   "text": "a\nb",    "n": [1.0, 9007199254740993] }`}); !cmp.Equal(want, got) {
		t.Errorf("got %+v", got)
	}
}

func TestAProgramNeedNotReadItsInput(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, subprocess.Config{Command: shell(`echo '{"result":1}'`)})
	if got := run(t, agent, `"`+strings.Repeat("x", 4<<20)+`"`, nil); got.Result != "1" {
		t.Errorf("got %+v", got)
	}
}

func TestLinesAreAsLongAsTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	// The line is {"result":"…"}, 13 bytes around the text.
	agent := newAgent(t, subprocess.Config{
		MaxLine: limit, Command: shell(`read -r n; printf '{"result":"'; head -c "$n" /dev/zero | tr '\0' x; printf '"}'`),
	})
	for _, line := range []int{65_535, 65_536, 65_537, limit - 1, limit, limit + 1} {
		got := run(t, agent, strconv.Itoa(line-13), nil)
		if line > limit {
			if got.Reason != schemas.ReasonResultTooLarge || got.Ran != schemas.RanYes {
				t.Errorf("line of %d bytes: %+v", line, got)
			}
			continue
		}
		if len(got.Result) != line-11 {
			t.Errorf("line of %d bytes: a result of %d, %s %s", line, len(got.Result), got.Code, got.Reason)
		}
	}
}

func TestAnEndlessLineIsCutOff(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, subprocess.Config{MaxLine: 1 << 16, Command: shell(`trap '' TERM; tr '\0' x </dev/zero`)})
	if got := run(t, agent, `{}`, nil); got.Reason != schemas.ReasonResultTooLarge {
		t.Errorf("got %+v", got)
	}
}

func TestOnlyTheEndOfStderrIsKept(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, subprocess.Config{Command: shell(
		`head -c 3000000 /dev/zero | tr '\0' x >&2; i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done >&2; exit 1`,
	)})
	got := run(t, agent, `{}`, nil)
	if len(got.Stderr) > 4<<10 || !strings.HasSuffix(got.Stderr, "line 1999") || strings.Contains(got.Stderr, "xx") {
		t.Errorf("stderr has %d bytes and ends with %q", len(got.Stderr), got.Stderr[max(0, len(got.Stderr)-20):])
	}
}

func TestTheEnvironmentNamesTheTaskAndHoldsNoSecret(t *testing.T) {
	t.Setenv("REACH_PSK", "hunter2")
	t.Setenv("REACH_URL", "nats://hunter2@broker")
	t.Setenv("NATS_URL", "nats://me:hunter2@broker:4222")
	t.Setenv("openai_api_key", "hunter2")
	t.Setenv("HARMLESS", "yes")
	dir := t.TempDir()
	agent := newAgent(t, subprocess.Config{Dir: dir, Command: shell(`env >env; echo 1`), Env: []string{"MY_TOKEN=given"}})
	task := adaptertest.NewTask([]byte(`{}`))
	if _, err := agent.Handle(t.Context(), task, new(adaptertest.Recorder)); err != nil {
		t.Fatal(err)
	}
	got := waitFor(t, filepath.Join(dir, "env"))
	for _, want := range []string{
		"REACH_TASK_ID=" + task.ID(), "REACH_CAPABILITY=echo", "REACH_ATTEMPT=1",
		"REACH_DEADLINE=" + schemas.At(task.Deadline).String(), "TRACEPARENT=" + adaptertest.Traceparent,
		"HARMLESS=yes", "MY_TOKEN=given", "PATH=",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(got, "hunter2") {
		t.Error("a secret is there")
	}
}

// stop gives the agent a task, ends that once the agent has made a file called ready, and returns what came of it.
func stop(t *testing.T, cfg subprocess.Config) (schemas.Payload, error) {
	t.Helper()
	cfg.Dir = t.TempDir()
	agent := newAgent(t, cfg)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var result schemas.Payload
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result, err = agent.Handle(ctx, adaptertest.NewTask([]byte(`{}`)), new(adaptertest.Recorder))
	}()
	waitFor(t, filepath.Join(cfg.Dir, "ready"))
	cancel(worker.ErrRunLimit)
	<-ended
	return result, err
}

func waitFor(t *testing.T, file string) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if content, err := os.ReadFile(file); err == nil && len(content) > 0 {
			return strings.TrimSpace(string(content))
		}
	}
	t.Fatalf("%s did not appear", filepath.Base(file))
	return ""
}

// gone waits until there is no process with that number.
func gone(t *testing.T, pid string) {
	t.Helper()
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if errors.Is(syscall.Kill(number, 0), syscall.ESRCH) {
			return
		}
		if status, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && strings.Contains(string(status), ") Z ") {
			return // its new parent has not looked yet
		}
	}
	t.Errorf("process %s is still there", pid)
}

func TestHowAStopEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		want         outcome
		confirmed    bool
	}{
		{
			"a program without a mind of its own dies of it", `echo yes >ready; exec sleep 60`,
			outcome{Code: schemas.DeadlineExceeded, Reason: schemas.ReasonRunLimit, Ran: schemas.RanUnknown},
			true,
		},
		{
			"a program that will not end is killed", `trap '' TERM; echo yes >ready; sleep 60; sleep 60`,
			outcome{Code: schemas.DeadlineExceeded, Reason: schemas.ReasonRunLimit, Ran: schemas.RanUnknown},
			false,
		},
		{
			"a program may end with a code of its own", `trap 'exit 9' TERM; echo yes >ready; sleep 60 & wait`,
			outcome{Code: schemas.DeadlineExceeded, Reason: schemas.ReasonRunLimit, Ran: schemas.RanUnknown},
			true,
		},
		{
			"a program may say that it stopped",
			`trap 'echo "{\"error\":{\"code\":\"CANCELLED\"}}"; exit 1' TERM; echo yes >ready; sleep 60 & wait`,
			outcome{Code: schemas.DeadlineExceeded, Reason: schemas.ReasonRunLimit, Ran: schemas.RanUnknown},
			true,
		},
		{
			"another error is an answer",
			`trap 'echo "{\"error\":{\"code\":\"DATA_LOSS\"}}"; exit 1' TERM; echo yes >ready; sleep 60 & wait`,
			outcome{Code: schemas.DataLoss, Ran: schemas.RanYes, AgentCode: "DATA_LOSS"},
			true,
		},
		{
			"a result is an answer, too", `trap 'echo "{\"result\":1}"; exit 0' TERM; echo yes >ready; sleep 60 & wait`,
			outcome{Result: "1"},
			false,
		},
		{
			"a result that was there before counts", `echo '{"result":2}'; echo yes >ready; exec sleep 60`,
			outcome{Result: "2"},
			false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := subprocess.Config{Command: shell(tt.script), KillAfter: 20 * time.Second}
			if strings.Contains(tt.script, "trap '' TERM") {
				cfg.KillAfter = 300 * time.Millisecond
			}
			result, err := stop(t, cfg)
			if diff := cmp.Diff(tt.want, outcomeOf(t, result, err, new(adaptertest.Recorder))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err != nil && failureOf(t, err).Confirmed != tt.confirmed {
				t.Errorf("confirmed is %t", !tt.confirmed)
			}
		})
	}
}

func TestTheWholeGroupEnds(t *testing.T) {
	t.Parallel()
	t.Run("when the program exits", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		agent := newAgent(t, subprocess.Config{
			Dir: dir, Command: shell(`(trap '' TERM; sleep 60; sleep 60) & echo $! >pid; echo '{"result":1}'`),
		})
		if got := run(t, agent, `{}`, nil); got.Result != "1" {
			t.Errorf("got %+v", got)
		}
		gone(t, waitFor(t, filepath.Join(dir, "pid")))
	})
	t.Run("when it is stopped", func(t *testing.T) {
		t.Parallel()
		pid := filepath.Join(t.TempDir(), "pid")
		_, _ = stop(t, subprocess.Config{
			KillAfter: 100 * time.Millisecond, Env: []string{"PIDFILE=" + pid},
			Command: shell(`(trap '' TERM; sleep 60; sleep 60) & echo $! >"$PIDFILE"; echo yes >ready; wait`),
		})
		gone(t, waitFor(t, pid))
	})
}

// TestAnEscapedProcessDoesNotHoldUs: it is in a session of its own and keeps the pipes.
func TestAnEscapedProcessDoesNotHoldUs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agent := newAgent(t, subprocess.Config{
		Dir: dir, Command: shell(`setsid sh -c 'echo $$ >pid; exec sleep 60' & while [ ! -s pid ]; do :; done; echo '{"result":1}'`),
	})
	began := time.Now()
	if got := run(t, agent, `{}`, nil); got.Result != "1" {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	pid, err := strconv.Atoi(waitFor(t, filepath.Join(dir, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the escaped process: %v", err)
	}
}

func TestAProgramThatHasAnsweredMustExit(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, subprocess.Config{
		KillAfter: 50 * time.Millisecond, Command: shell(`echo '{"result":1}'; exec >&- ; exec sleep 60`),
	})
	if got := run(t, agent, `{}`, nil); got.Result != "1" {
		t.Errorf("got %+v", got)
	}
}

// TestASlowReaderLosesNothing: the program has long exited when the last of its chunks is taken.
func TestASlowReaderLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agent := newAgent(t, subprocess.Config{
		Dir: dir, Command: shell(`i=0; while [ $i -lt 500 ]; do echo "{\"chunk\":$i}"; i=$((i+1)); done; echo yes >ready`),
	})
	heard := &adaptertest.Recorder{Gate: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(`{}`)), heard)
		ended <- err
	}()
	waitFor(t, filepath.Join(dir, "ready"))
	for range 500 {
		heard.Gate <- struct{}{}
	}
	if err := <-ended; err != nil || len(heard.Chunks()) != 500 {
		t.Errorf("%d chunks, %v", len(heard.Chunks()), err)
	}
}

func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agent := newAgent(t, subprocess.Config{Dir: dir, Command: shell(`echo $$ >pid; exec sleep 60`)})
	ended := make(chan error, 1)
	go func() {
		_, err := agent.Handle(t.Context(), adaptertest.NewTask([]byte(`{}`)), new(adaptertest.Recorder))
		ended <- err
	}()
	pid := waitFor(t, filepath.Join(dir, "pid"))
	agent.Close()
	gone(t, pid)
	if failure := failureOf(t, <-ended); failure.Err.Code != schemas.Cancelled {
		t.Errorf("got %v", failure.Err)
	}
	if got := run(t, agent, `{}`, nil); got.Code != schemas.Unavailable || got.Ran != schemas.RanNo {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestAProgramThatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "agent")
	for _, keepAlive := range []bool{false, true} {
		if err := os.Symlink("/bin/sh", program); err != nil {
			t.Fatal(err)
		}
		cfg := subprocess.Config{Dir: dir, Command: []string{"./agent", "-c", "read -r line"}, KeepAlive: keepAlive}
		agent := newAgent(t, cfg)
		if err := agent.Health(t.Context()); err != nil {
			t.Errorf("health before: %v", err)
		}
		agent.Close()
		agent = newAgent(t, cfg)
		if err := os.Remove(program); err != nil {
			t.Fatal(err)
		}
		got := run(t, agent, `{}`, nil)
		want := outcome{Code: schemas.Unavailable, Reason: schemas.ReasonCannotConnect, Ran: schemas.RanNo}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err := agent.Health(t.Context()); err == nil {
			t.Error("it is well without its program")
		}
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]subprocess.Config{
		"no command":          {},
		"an empty command":    {Command: []string{""}},
		"no such program":     {Command: []string{"no-such-program-anywhere"}},
		"no such file":        {Command: []string{"./no-such-program"}},
		"not a program":       {Command: []string{text}},
		"a negative limit":    {Command: shell("true"), MaxLine: -1},
		"a variable unnamed":  {Command: shell("true"), Env: []string{"=x"}},
		"a variable unsaid":   {Command: shell("true"), Env: []string{"NAME"}},
		"a variable with NUL": {Command: shell("true"), Env: []string{"NAME=\x00"}},
	} {
		if _, err := subprocess.New(cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
