//go:build unix

package streaming

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/front/natsfront"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// The variables that make the test binary a worker or a dispatcher of its own.
const (
	roleVariable  = "REACH_TEST_ROLE"
	urlVariable   = "REACH_TEST_URL"
	agentVariable = "REACH_TEST_AGENT"
)

var roles = map[string]func(url string, ready func()) error{"worker": beWorker, "dispatcher": beDispatcher, "repeater": beRepeater}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVariable)]; role != nil {
		if err := role(os.Getenv(urlVariable), func() { fmt.Println("ready") }); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	brokertest.Main(m)
}

// order is what a streamer is asked for: so many chunks of a size, one after each pause.
type order struct {
	Chunks  int `json:"chunks"`
	Bytes   int `json:"bytes"`
	EveryUS int `json:"every_us"`
}

// piece is the text of a chunk: its number, and as much as is lacking.
func (o order) piece(n int) string {
	return fmt.Sprintf("%0*d ", max(1, o.Bytes-1), n)
}

func (o order) text() string {
	var all strings.Builder
	for n := range o.Chunks {
		all.WriteString(o.piece(n))
	}
	return all.String()
}

// stream does what an order asks for. It keeps its pace as long as nobody holds it up.
func stream(ctx context.Context, task *worker.Task, to worker.Emit) (schemas.Payload, error) {
	var o order
	if err := schemas.Decode(task.Message.Payload, &o); err != nil {
		return nil, err
	}
	pause := time.NewTicker(max(time.Millisecond, time.Duration(o.EveryUS)*time.Microsecond))
	defer pause.Stop()
	atOnce := max(1, int(time.Millisecond/time.Microsecond)/max(1, o.EveryUS))
	for n := range o.Chunks {
		if n%atOnce == 0 {
			select {
			case <-pause.C:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		if err := emit(ctx, to, `"`+o.piece(n)+`"`); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func beWorker(url string, ready func()) error {
	ctx := context.Background()
	conn, err := broker.Connect(ctx, broker.Config{URL: url, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	w, err := worker.New(worker.Config{Conn: conn, Logger: zerolog.Nop(), HeartbeatInterval: 300 * time.Millisecond, Agents: []worker.Agent{{
		Registration: schemas.Registration{
			AgentID: os.Getenv(agentVariable), Capabilities: []schemas.Offer{{ID: "echo", MaxConcurrency: 4}},
		},
		Handler: worker.HandlerFunc(stream),
	}}})
	if err != nil {
		return err
	}
	go func() { <-w.Ready(); ready() }()
	return w.Run(ctx)
}

func beDispatcher(url string, ready func()) error {
	ctx := context.Background()
	conn, err := broker.Connect(ctx, broker.Config{URL: url, Logger: zerolog.Nop()})
	if err == nil {
		err = conn.Setup(ctx)
	}
	if err != nil {
		return err
	}
	d, err := dispatcher.New(conn, dispatcher.Config{Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	go func() {
		<-d.Ready()
		if _, err := natsfront.Serve(conn, d, natsfront.Config{}); err == nil {
			ready()
		}
	}()
	return d.Run(ctx)
}

// process is the test binary in another role.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
}

// start waits until the process does what it is for. It ends with the test.
func start(t testing.TB, role, url, agentID string) *process {
	t.Helper()
	path, err := os.Executable()
	check(t, err)
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, urlVariable+"="+url, agentVariable+"="+agentID, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	p := &process{t, cmd}
	t.Cleanup(p.kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the %s says %q (%v)", role, line, err)
	}
	return p
}

// kill ends the process without a word to it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // which tells how it ended, and that is known
}

// resident is how much memory the process has, and how much processor time it has used; zeros where there is no /proc.
func (p *process) resident() (megabytes int, cpu time.Duration) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if _, rest, found := strings.Cut(string(status), "VmRSS:"); found {
		kilobytes, _ := strconv.Atoi(strings.Fields(rest)[0])
		megabytes = kilobytes >> 10
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	const user, system, perSecond = 11, 12, 100
	if fields := strings.Fields(rest); len(fields) > system {
		u, _ := strconv.Atoi(fields[user])
		s, _ := strconv.Atoi(fields[system])
		cpu = time.Duration(u+s) * time.Second / perSecond
	}
	return megabytes, cpu
}
