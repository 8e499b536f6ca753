package worker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// The test binary is a worker in a process of its own when this names a broker. Such a process is killed, for a worker that is asked
// to stop leaves nothing undone.
const childURL = "REACH_TEST_WORKER_URL"

// childDir has the journal of such a worker, and effects, to which its agent adds a line whenever it is asked. While there is a file
// "hang" the agent does not answer.
const childDir = "REACH_TEST_WORKER_DIR"

func runAsChild() error {
	log := zerolog.New(os.Stderr).Level(zerolog.InfoLevel)
	ctx := context.Background()
	conn, err := broker.Connect(ctx, broker.Config{URL: os.Getenv(childURL), Name: "child", Logger: log})
	if err != nil {
		return err
	}
	dir := os.Getenv(childDir)
	return Run(ctx, Config{
		Conn: conn, Logger: log, JournalDir: filepath.Join(dir, "journal"), RequestTimeout: 300 * time.Millisecond,
		ReceiptAfter: 20 * time.Millisecond,
		Agents: []Agent{{
			Handler: HandlerFunc(func(ctx context.Context, t *Task, _ Emit) (schemas.Payload, error) { return haveEffect(ctx, dir, t) }),
			Registration: schemas.Registration{
				AgentID: "laptop-1", Version: "1.2.0", Capabilities: []schemas.Offer{{ID: "echo", MaxConcurrency: 2}},
			},
		}},
	})
}

// haveEffect is an agent whose work can be counted.
func haveEffect(ctx context.Context, dir string, t *Task) (schemas.Payload, error) {
	log, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	if _, err := fmt.Fprintln(log, t.ID()); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "hang")); err == nil {
		<-ctx.Done()
	}
	return t.Message.Payload, nil
}

// mortal is such a worker as its parent sees it.
type mortal struct {
	t       *testing.T
	dir     string
	command *exec.Cmd
	log     bytes.Buffer
}

func (h *house) bear(t *testing.T, dir string) *mortal {
	t.Helper()
	m := &mortal{t: t, dir: dir, command: exec.Command(os.Args[0])}
	m.command.Env = append(os.Environ(), childURL+"="+h.broker.URL(), childDir+"="+dir)
	m.command.Stderr = &m.log
	if err := m.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.kill()
		if t.Failed() {
			t.Logf("the worker's log:\n%s", m.log.String())
		}
	})
	return m
}

func (m *mortal) kill() {
	_ = m.command.Process.Kill() // an error says that it was killed before
	_ = m.command.Wait()
}

// effects are the ids of the tasks that the agent was asked to do, one for each time.
func effects(t *testing.T, dir string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(content))
}

func TestAResultOutlivesAKill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		effects bool
		first   reaction // to the result, before the kill
	}{
		{"of a task without side effects", false, reaction{ignore: true}},
		{"of a task with side effects", true, reaction{ignore: true}},
		{"of one whose end was stored, and nobody heard", true, reaction{swallow: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			killed := make(chan struct{})
			registered := make(chan int, 100) // at each repeat: the processes that had registered by then
			h.onFinish = func(int, schemas.Result) reaction {
				select {
				case <-killed:
					registered <- h.processes()
					return reaction{}
				default:
					return tt.first
				}
			}
			h.serve()
			dir := t.TempDir()
			first := h.bear(t, dir)
			e := h.assign(task{effects: tt.effects})
			sent := h.awaitResult(e.TaskID)
			first.kill()
			close(killed)

			h.bear(t, dir)
			if n := <-registered; n != 1 {
				t.Errorf("the result was repeated after the second process had registered (%d)", n)
			}
			brokertest.Eventually(t, "a pull of the second process", func() bool {
				return slices.ContainsFunc(look(h, &h.pulls), func(p schemas.Pull) bool { return p.InstanceID != sent.InstanceID })
			})
			h.awaitDone(e.TaskID)
			if got := effects(t, dir); !slices.Equal(got, []string{e.TaskID}) {
				t.Errorf("the agent was asked for %v", got)
			}
			results := look(h, &h.results)
			if diff := cmp.Diff(sent, results[len(results)-1]); diff != "" {
				t.Errorf("the result was repeated in other words: %s", diff)
			}
		})
	}
}

func TestAnAttemptThatComesAgainAfterAKillIsAnswered(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	killed := make(chan struct{})
	h.onFinish = func(int, schemas.Result) reaction {
		select {
		case <-killed:
			return reaction{}
		default:
			return reaction{ignore: true}
		}
	}
	h.serve()
	dir := t.TempDir()
	first := h.bear(t, dir)
	e := h.assign(task{})
	sent := h.awaitResult(e.TaskID)
	first.kill()
	again := h.assign(task{id: e.TaskID, previous: e.Sequence}) // the agent was lost, and the task never reached it
	close(killed)

	h.bear(t, dir)
	h.awaitDone(e.TaskID)
	if got := effects(t, dir); !slices.Equal(got, []string{e.TaskID}) {
		t.Errorf("the agent was asked for %v", got)
	}
	results := look(h, &h.results)
	last := results[len(results)-1]
	if last.Sequence != again.Sequence || string(last.Result) != string(sent.Result) || last.InstanceID == sent.InstanceID {
		t.Errorf("it was answered by %+v", last)
	}
}

func TestWhatHadBegunIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hang"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first := h.bear(t, dir)
	e := h.assign(task{effects: true})
	brokertest.Eventually(t, "the agent at work", func() bool { return len(effects(t, dir)) == 1 })
	first.kill()
	begun, err := h.conn.Ledger().LastAtLeader(t.Context(), e.TaskID)
	if err != nil {
		t.Fatal(err)
	}
	h.assign(task{id: e.TaskID, previous: begun.Sequence, effects: true}) // the broker has lost what was written last

	h.bear(t, dir)
	compareResult(t, schemas.Result{
		State: schemas.StateFailed, Ran: schemas.RanUnknown,
		Error: &schemas.Error{Code: schemas.Unavailable, Reason: schemas.ReasonWorkerStopped},
	}, h.awaitResult(e.TaskID))
	if got := effects(t, dir); !slices.Equal(got, []string{e.TaskID}) {
		t.Errorf("the agent was asked for %v", got)
	}
}
