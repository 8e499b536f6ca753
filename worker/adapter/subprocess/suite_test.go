//go:build unix

package subprocess_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/subprocess"
)

func TestBothFormsPassTheSuite(t *testing.T) {
	for _, form := range []string{"per_task", "keep_alive"} {
		t.Run(form, func(t *testing.T) {
			starting := func(grace time.Duration) func(*testing.T, int, adaptertest.Via) adaptertest.Agent {
				return func(t *testing.T, maxResult int, _ adaptertest.Via) adaptertest.Agent {
					return adaptertest.Agent{Handler: obedient(t, form, subprocess.Config{MaxLine: maxResult, KillAfter: grace})}
				}
			}
			adaptertest.Run(t, adaptertest.Subject{
				Streams: true, Confirms: true, Buffers: 1 << 20, Start: starting(20 * time.Second), StartCurt: starting(100 * time.Millisecond),
			})
		})
	}
}

// obedient is this very program as an agent.
func obedient(t *testing.T, form string, cfg subprocess.Config) *subprocess.Agent {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Command = []string{self}
	cfg.Env = append(cfg.Env, agentVariable+"="+form)
	cfg.KeepAlive = form == "keep_alive"
	return newAgent(t, cfg)
}

// newAgent is the adapter, with short timers where cfg has none.
func newAgent(t *testing.T, cfg subprocess.Config) *subprocess.Agent {
	t.Helper()
	if cfg.KillAfter == 0 {
		cfg.KillAfter = time.Second
	}
	if cfg.RestartAfter == 0 {
		cfg.RestartAfter = 10 * time.Millisecond
	}
	agent, err := subprocess.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	return agent
}

// perTaskAgent does one order and exits.
func perTaskAgent() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	payload, _ := input()()
	if err := adaptertest.Obey(ctx, os.Getenv("REACH_TASK_ID"), payload, &voice{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// keepAliveAgent does one order after the other, all at once.
func keepAliveAgent() {
	var running sync.Map // task_id to the function that stops it
	next := input()
	for {
		line, more := next()
		var request struct {
			TaskID  string          `json:"task_id"`
			Payload schemas.Payload `json:"payload"`
			Cancel  string          `json:"cancel"`
		}
		if schemas.Decode(line, &request) != nil || !more {
			return
		}
		if stop, found := running.Load(request.Cancel); found {
			stop.(context.CancelFunc)()
			continue
		}
		ctx, stop := context.WithCancel(context.Background())
		running.Store(request.TaskID, stop)
		go func() {
			defer stop()
			_ = adaptertest.Obey(ctx, request.TaskID, request.Payload, &voice{taskID: request.TaskID})
		}()
	}
}

// voice prints protocol lines, which name the task where there are several.
type voice struct{ taskID string }

var stdout sync.Mutex

func (v *voice) say(what string, value []byte) {
	stdout.Lock()
	defer stdout.Unlock()
	if v.taskID != "" {
		fmt.Printf(`{"task_id":%q,%q:%s}`+"\n", v.taskID, what, value)
		return
	}
	fmt.Printf(`{%q:%s}`+"\n", what, value)
}

func (v *voice) Result(value []byte) { v.say("result", value) }

func (v *voice) Error(code, message string, details []byte) {
	v.say("error", adaptertest.ErrorBody(code, message, details))
}

func (v *voice) Chunk(value []byte) { v.say("chunk", value) }

func (v *voice) Progress(fraction float64, message string) {
	v.say("progress", fmt.Appendf(nil, `{"fraction":%g,"message":%q}`, fraction, message))
}

func (v *voice) Garbage(text string) { fmt.Println(text) }

func (v *voice) Break() {
	fmt.Print(`{"result":{"half":`)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
