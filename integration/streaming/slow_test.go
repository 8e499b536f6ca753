//go:build unix

package streaming

import (
	"flag"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// Measurements that take minutes; make streams does them.
var (
	slowMB    = flag.Int("slow", 0, "megabytes of a stream that a slow reader reads; 0 does not")
	fanFor    = flag.Duration("fan", 0, "how long 50 readers follow one agent; 0 they do not")
	fanReader = 50
)

// apart is a broker, with a dispatcher and a worker that are processes of their own.
type apart struct {
	t                  *testing.T
	broker             *brokertest.Broker
	dispatcher, worker *process
}

func newApart(t *testing.T) *apart {
	t.Helper()
	a := &apart{t: t, broker: brokertest.New(t)}
	a.broker.Conn(t) // which sets it up
	a.dispatcher = start(t, "dispatcher", a.broker.URL(), "")
	a.worker = start(t, "worker", a.broker.URL(), "laptop-1")
	return a
}

func (a *apart) client() *client.Client {
	conn := a.broker.Connect(a.t, func(cfg *broker.Config) { cfg.Name = "reader" })
	return client.New(conn, client.WithTimes(0, time.Minute))
}

// watch notes the most memory that the processes have until it is stopped, and how much processor time they use.
func (a *apart) watch() (stop func() (dispatcherMB, workerMB int, dispatcherCPU, workerCPU time.Duration)) {
	end, done := make(chan struct{}), make(chan struct{})
	var most [2]int
	_, d0 := a.dispatcher.resident()
	_, w0 := a.worker.resident()
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				for i, p := range []*process{a.dispatcher, a.worker} {
					now, _ := p.resident()
					most[i] = max(most[i], now)
				}
			case <-end:
				return
			}
		}
	}()
	return func() (int, int, time.Duration, time.Duration) {
		close(end)
		<-done
		_, d := a.dispatcher.resident()
		_, w := a.worker.resident()
		return most[0], most[1], d - d0, w - w0
	}
}

// tellEach logs what the processes have and have used after each so much time, until it is stopped.
func (a *apart) tellEach(interval time.Duration) (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	_, d0 := a.dispatcher.resident()
	_, w0 := a.worker.resident()
	go func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-tick.C:
				dispatcherMB, d := a.dispatcher.resident()
				workerMB, w := a.worker.resident()
				a.t.Logf("after %v: dispatcher %d MB, worker %d MB; processor dispatcher %v, worker %v",
					time.Since(began).Round(time.Second), dispatcherMB, workerMB, d-d0, w-w0)
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-done }
}

// A reader that takes a stream at 60 % of the agent's speed holds it up, and gets every chunk; one at 25 % is given the whole in one
// piece at the end. Neither costs worker or dispatcher memory.
func TestASlowReaderCostsNoMemory(t *testing.T) {
	if *slowMB == 0 {
		t.Skip("measured with -slow MEGABYTES")
	}
	for name, share := range map[string]float64{"60 %": 0.60, "25 %": 0.25} {
		t.Run(name, func(t *testing.T) { readSlowly(t, share) })
	}
}

func readSlowly(t *testing.T, share float64) {
	a := newApart(t)
	const bytes, everyUS = 10_000, 1000 // 10 MB/s
	o := order{Chunks: *slowMB * 100, Bytes: bytes, EveryUS: everyUS}
	c := a.client()
	ctx := t.Context()
	task, err := c.Submit(ctx, &schemas.ReachMessage{
		Capability: "echo", ResponseMode: schemas.ModeStream, Payload: schemas.MustEncode(o), RunTimeoutMS: 600_000,
	})
	check(t, err)
	stream, err := c.Follow(ctx, task.TaskID, 0)
	check(t, err)
	defer stream.Close()
	stop := a.watch()
	began := time.Now()
	chunks, notices, text := 0, 0, strings.Builder{}
	pause := time.NewTicker(time.Duration(float64(everyUS)/share) * time.Microsecond)
	defer pause.Stop()
	for {
		event, err := stream.Next(ctx)
		check(t, err)
		switch {
		case event.Notice != nil:
			notices++
		case event.Chunk != nil:
			chunks++
			text.WriteString(strings.Trim(string(event.Chunk.Data), `"`))
			<-pause.C
		case event.Task != nil && event.Task.State.Terminal():
			dispatcherMB, workerMB, dispatcherCPU, workerCPU := stop()
			want := o.text()
			if result := string(event.Task.Result); result != `"`+want+`"` || notices == 0 && text.String() != want || !strings.HasPrefix(want, text.String()) {
				t.Errorf("it ended %s with a result of %d bytes; %d were read", event.Task.State, len(result), text.Len())
			}
			t.Logf("%d MB at %.0f %% of the agent's speed: %d of %d chunks and %d notices in %v; at most dispatcher %d MB, worker %d MB; processor dispatcher %v, worker %v",
				*slowMB, 100*share, chunks, o.Chunks, notices, time.Since(began).Round(time.Second), dispatcherMB, workerMB, dispatcherCPU, workerCPU)
			return
		}
	}
}

// Fifty readers follow an agent that says 40 things a second.
func TestFiftyReadersOfOneAgent(t *testing.T) {
	if *fanFor == 0 {
		t.Skip("measured with -fan DURATION")
	}
	a := newApart(t)
	o := order{Chunks: int(fanFor.Seconds() * 40), Bytes: 60, EveryUS: 25_000}
	c := a.client()
	ctx := t.Context()
	task, err := c.Submit(ctx, &schemas.ReachMessage{
		Capability: "echo", ResponseMode: schemas.ModeStream, Payload: schemas.MustEncode(o), RunTimeoutMS: 1_200_000,
	})
	check(t, err)
	stop, asleep := a.watch(), a.tellEach(time.Minute)
	var readers sync.WaitGroup
	for range fanReader {
		reader := a.client()
		readers.Go(func() {
			got := 0
			for chunk, err := range reader.Chunks(ctx, task.TaskID) {
				if got++; err != nil || chunk.N != int64(got) {
					t.Errorf("after %d chunks: %v, %v", got, chunk, err)
					return
				}
			}
			if got != o.Chunks {
				t.Errorf("%d of %d chunks came", got, o.Chunks)
			}
		})
	}
	readers.Wait()
	asleep()
	dispatcherMB, workerMB, dispatcherCPU, workerCPU := stop()
	t.Logf("%d chunks to %d readers in %v; at most dispatcher %d MB, worker %d MB; processor dispatcher %v, worker %v",
		o.Chunks, fanReader, *fanFor, dispatcherMB, workerMB, dispatcherCPU, workerCPU)
}
