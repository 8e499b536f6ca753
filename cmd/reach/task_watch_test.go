package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/schemas"
)

// streaming is an agent that writes the stream of the newest task, as its worker would, and counts its chunks for the house.
type streaming struct {
	t      *testing.T
	house  *fronttest.House
	id     string
	writer *broker.ChunkWriter
}

func newStreaming(t *testing.T, house *fronttest.House, environ []string, id string) *streaming {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := broker.Connect(ctx, broker.Config{URL: strings.TrimPrefix(environ[0], "REACH_URL=")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	writers, err := conn.WriteChunks(fronttest.AgentID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writers.Close)
	message := &schemas.ReachMessage{TaskID: id, Attempt: 1, ResponseMode: schemas.ModeStream}
	return &streaming{t, house, id, writers.Open(message)}
}

func (s *streaming) say(chunks ...string) {
	s.t.Helper()
	for _, chunk := range chunks {
		if err := s.writer.Write(s.t.Context(), schemas.Payload(chunk)); err != nil {
			s.t.Fatal(err)
		}
		s.house.Say(s.id, front.Event{Chunk: &schemas.Chunk{Data: schemas.Payload(chunk)}})
	}
}

func (s *streaming) end(result string, failure *schemas.Error) {
	s.writer.End()
	if failure != nil {
		s.house.End(s.id, nil, failure)
		return
	}
	s.house.End(s.id, schemas.Payload(result), nil)
}

// watching is a command that follows a task, and what it has printed so far.
type watching struct {
	t      *testing.T
	mu     sync.Mutex
	stdout strings.Builder
	stderr strings.Builder // of the command alone until it has ended
	code   chan int
}

// watch starts a command that lasts until the task ends, or ctx.
func watch(ctx context.Context, t *testing.T, environ []string, terminal bool, args ...string) *watching {
	t.Helper()
	w := &watching{t: t, code: make(chan int, 1)}
	a := &app{
		stdin: strings.NewReader(""), stdout: w, stderr: &w.stderr, environ: environ, terminal: func(any) bool { return terminal },
	}
	go func() { w.code <- a.run(ctx, append([]string{"task", "watch"}, args...)) }()
	return w
}

// Write is the command's standard output.
func (w *watching) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stdout.Write(p)
}

// printed is what it has printed so far.
func (w *watching) printed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stdout.String()
}

// prints waits until it has printed a text: from then on its task may end.
func (w *watching) prints(text string) {
	w.t.Helper()
	eventually(w.t, "it prints "+text, func() bool { return strings.Contains(w.printed(), text) })
}

// ends waits for its end.
func (w *watching) ends() (code int, stdout, stderr string) {
	code = <-w.code
	return code, w.printed(), w.stderr.String()
}

func TestWatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, args     string
		chunks         []string
		before         string // the end
		result         string
		terminal       bool
		stdout, stderr string
	}{
		{"strings run on, and make the result", "", []string{`"Ships "`, `"sail."`}, "Ships sail.", `"Ships sail."`, false, "Ships sail.\n", ""},
		{"a result of its own follows", "", []string{`"Ships "`, `"sail."`}, "Ships sail.", `{"n":1.0}`, false, "Ships sail.\n{\"n\":1.0}\n", ""},
		{"values have a line each", "", []string{`9007199254740993`, `[1e2,-0]`}, "[1e2,-0]", `[9007199254740993,[1e2,-0]]`, false, "9007199254740993\n[1e2,-0]\n", ""},
		{"without pieces the result is printed", "", nil, "", `1.0`, false, "1.0\n", ""},
		{"without pieces a string is printed as a piece would be", "", nil, "", `"ab"`, false, "ab\n", ""},
		{"on a terminal the waiting is drawn, and wiped away", "", []string{`"a"`}, "a", `"a"`, true, "a\n", "\r\x1b[K"},
		{"it goes on where somebody has stopped", "--after 1", []string{`"a"`, `"b"`}, "b", `"ab"`, false, "b\n\"ab\"\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			house, environ := furnished(t)
			id := house.Plant(schemas.DefaultTenant)
			agent := newStreaming(t, house, environ, id)
			agent.say(tt.chunks...)
			w := watch(t.Context(), t, environ, tt.terminal, append([]string{id}, strings.Fields(tt.args)...)...)
			w.prints(tt.before)
			agent.end(tt.result, nil)
			code, stdout, stderr := w.ends()
			if code != exit.OK || stdout != tt.stdout || !strings.HasSuffix(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("exit code %d\nstdout %q\nstderr %q", code, stdout, stderr)
			}
		})
	}
}

func TestWatchInJSON(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	id := house.Plant(schemas.DefaultTenant)
	agent := newStreaming(t, house, environ, id)
	agent.say(`9007199254740993`)
	w := watch(t.Context(), t, environ, false, id, "-o", "json")
	w.prints(`"event":"chunk"`)
	agent.end("1", nil)
	code, stdout, stderr := w.ends()
	if code != exit.OK || stderr != "" {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
	var got []string
	for row := range strings.Lines(stdout) {
		event, data, _ := strings.Cut(strings.TrimSuffix(row, "}\n"), `,"data":`)
		if strings.Contains(event, "chunk") {
			event += " " + data
		}
		got = append(got, event)
	}
	want := []string{
		`{"event":"state"`,
		`{"event":"chunk" {"v":1,"task_id":"` + id + `","attempt":1,"n":1,"data":9007199254740993}`,
		`{"event":"done"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, stdout)
	}
}

func TestWatchATaskThatFails(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	id := house.Plant(schemas.DefaultTenant)
	agent := newStreaming(t, house, environ, id)
	agent.say(`"half"`)
	w := watch(t.Context(), t, environ, false, id)
	w.prints("half")
	agent.end("", schemas.NewError(schemas.Aborted, "", "may have run"))
	code, stdout, stderr := w.ends()
	if code != exit.Failed || stdout != "half\n" || !strings.HasPrefix(stderr, "error: ABORTED: may have run") {
		t.Errorf("exit code %d\nstdout %q\nstderr %q", code, stdout, stderr)
	}
	code, _, _ = commandLine(t, environ, "task", "watch", schemas.NewTaskID())
	if code != exit.Usage {
		t.Errorf("an unknown task: exit code %d", code)
	}
	if code, _, _ = commandLine(t, environ, "task", "watch", id, "--after", "-1"); code != exit.Usage {
		t.Errorf("a number below zero: exit code %d", code)
	}
}

func TestSubmitAsAStream(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	ended := make(chan string, 1)
	go func() {
		code, stdout, stderr := commandLine(t, environ, "task", "submit", "hold", "--stream")
		if code != exit.OK || stderr != "" {
			t.Errorf("exit code %d, stderr %s", code, stderr)
		}
		ended <- stdout
	}()
	eventually(t, "the task is there", func() bool { return house.Newest() != nil })
	id := house.Newest().TaskID
	if mode := house.Message(id).ResponseMode; mode != schemas.ModeStream {
		t.Errorf("response_mode %s", mode)
	}
	agent := newStreaming(t, house, environ, id)
	agent.say(`"a"`, `"b"`)
	agent.end(`"ab"`, nil)
	if stdout := <-ended; stdout != "ab\n" {
		t.Errorf("stdout %q", stdout)
	}
	if code, _, _ := commandLine(t, environ, "task", "submit", "echo", "--stream", "--wait"); code != exit.Usage {
		t.Errorf("--stream beside --wait: exit code %d", code)
	}
}

func TestAnInterruptedWatchLeavesTheTask(t *testing.T) {
	t.Parallel()
	house, environ := furnished(t)
	id := house.Plant(schemas.DefaultTenant)
	ctx, interrupt := context.WithCancel(t.Context())
	agent := newStreaming(t, house, environ, id)
	agent.say(`"half"`)
	w := watch(ctx, t, environ, false, id)
	w.prints("half")
	interrupt()
	code, _, stderr := w.ends()
	if code != exit.WaitEnded || house.Newest().State.Terminal() {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
}
