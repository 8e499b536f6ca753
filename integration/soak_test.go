//go:build unix

package integration

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

var soakFor = flag.Duration("soak", 0, "how long the soak lasts; 0 leaves it out")

// What a soak is made of.
const (
	soakers  = 64 // callers
	soakKept = 20 * time.Second
	warmUp   = 10 * time.Second // in which the callers go as fast as they can
	looks    = 30               // at latency and memory
)

const soakConfiguration = `
ledger: {retention: 20s}
log: {level: warn, format: json}
`

// TestSoak runs a house at half of what it can do for long, and logs latency, memory, goroutines and files as they go. At the end they
// must be as in the middle: nothing grows but what is kept, and that is kept for a short time here.
func TestSoak(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("it takes long: make soak")
	}
	s := newSoak(t)
	full := s.closed(warmUp)
	s.t.Logf("%d callers get %.0f tasks/s; now %.0f for %v", soakers, full, full/2, *soakFor)
	var samples []sample
	for range looks {
		samples = append(samples, s.open(full/2, *soakFor/looks))
		s.t.Log(samples[len(samples)-1])
	}
	flat(t, samples[looks/3:2*looks/3], samples[2*looks/3:])
}

// soak is a house with one busy worker.
type soak struct {
	*house
	worker *process
	sdk    *sdkCaller

	mu    sync.Mutex
	took  []time.Duration // of the tasks since the last look
	fails int
}

func newSoak(t *testing.T) *soak {
	h := emptyHouse(t)
	h.write("reach.yaml", soakConfiguration)
	front := brokertest.FreeAddress(t)
	h.fronts = []string{"http://" + front}
	h.broker = h.program("reach up", "up", "--data", h.data(), "--nats", address(h.url), "--http", front)
	h.startBroker()
	w := h.worker(child("one", 32, "echo"), child("two", 32, "echo"))
	w.start()
	s := &soak{house: h, worker: w, sdk: newSDKCaller(t, h.url)}
	for ready := false; !ready; pause(t.Context(), repeatWait) {
		agents, err := s.sdk.client.ListAgents(t.Context(), schemas.AgentQuery{})
		ready = err == nil && len(agents.Items) == 2
	}
	return s
}

// one is one task, from a moment on.
func (s *soak) one(from time.Time) {
	m := ask("echo", `{"text":"Ships sail. Ships sink. Ships sail again."}`)
	m.ExpiresAt = schemas.At(time.Now().Add(soakKept))
	ctx, cancel := context.WithTimeout(context.Background(), soakKept)
	defer cancel()
	task, err := s.sdk.client.Do(ctx, &m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.took = append(s.took, time.Since(from)); err != nil || task.State != schemas.StateCompleted {
		s.fails++
	}
}

// closed has every caller submit as soon as it has its result, and says how many tasks a second that makes.
func (s *soak) closed(d time.Duration) (rate float64) {
	end := time.Now().Add(d)
	together(soakers, func(int) {
		for time.Now().Before(end) {
			s.one(time.Now())
		}
	})
	return float64(s.look(d).tasks) / d.Seconds()
}

// open has tasks come at a rate, however long the ones before take: a caller that is late counts the time that its task waited for it.
func (s *soak) open(rate float64, d time.Duration) sample {
	begin := time.Now()
	together(soakers, func(n int) {
		every := time.Duration(float64(soakers) / rate * float64(time.Second))
		for due := begin.Add(every * time.Duration(n) / soakers); due.Before(begin.Add(d)); due = due.Add(every) {
			pause(context.Background(), time.Until(due))
			s.one(due)
		}
	})
	return s.look(d)
}

// sample is how all stood over a while.
type sample struct {
	tasks, fails                int
	rate                        float64
	p50, p99, most              time.Duration
	upMB, workerMB              float64
	goroutines, upFiles, wFiles int
}

func (s sample) String() string {
	return fmt.Sprintf("%.0f tasks/s, %d failed, p50 %v p99 %v max %v; reach up %.0f MB, %d goroutines, %d files; worker %.0f MB, %d files",
		s.rate, s.fails, s.p50.Round(10*time.Microsecond), s.p99.Round(10*time.Microsecond), s.most.Round(time.Millisecond),
		s.upMB, s.goroutines, s.upFiles, s.workerMB, s.wFiles)
}

// look takes a sample of what happened since the last one.
func (s *soak) look(d time.Duration) sample {
	s.mu.Lock()
	took, fails := s.took, s.fails
	s.took, s.fails = nil, 0
	s.mu.Unlock()
	slices.Sort(took)
	at := func(q float64) time.Duration { return took[min(len(took)-1, int(q*float64(len(took))))] }
	metrics := s.metrics()
	return sample{
		tasks: len(took), fails: fails, rate: float64(len(took)) / d.Seconds(), p50: at(.5), p99: at(.99), most: at(1),
		upMB: resident(s.broker.pid()), workerMB: resident(s.worker.pid()),
		goroutines: int(metrics["go_goroutines"]), upFiles: files(s.broker.pid()), wFiles: files(s.worker.pid()),
	}
}

// metrics are those without labels.
func (s *soak) metrics() map[string]float64 {
	response, err := http.Get(s.fronts[0] + "/metrics")
	check(s.t, err)
	defer response.Body.Close()
	values := make(map[string]float64)
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			values[name] = value
		}
	}
	return values
}

// resident is what a process has of the memory, in MB; 0 where that is not told.
func resident(pid int) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmRSS:"); found {
			var kb float64
			_, _ = fmt.Sscan(text, &kb)
			return kb / 1024
		}
	}
	return 0
}

// files counts what a process has open.
func files(pid int) int {
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(open)
}

// flat holds the end against the middle.
func flat(t *testing.T, middle, end []sample) {
	t.Helper()
	for what, of := range map[string]func(sample) float64{
		"memory of reach up, MB":   func(s sample) float64 { return s.upMB },
		"memory of the worker, MB": func(s sample) float64 { return s.workerMB },
		"goroutines":               func(s sample) float64 { return float64(s.goroutines) },
		"files of reach up":        func(s sample) float64 { return float64(s.upFiles) },
		"files of the worker":      func(s sample) float64 { return float64(s.wFiles) },
		"the longest, ms":          func(s sample) float64 { return float64(s.most.Milliseconds()) },
		"failures":                 func(s sample) float64 { return 1000 * float64(s.fails) },
	} {
		before, after := medianOf(middle, of), medianOf(end, of)
		t.Logf("%s: %.0f in the middle, %.0f at the end", what, before, after)
		if after > 1.25*before+20 {
			t.Errorf("%s grew from %.0f to %.0f", what, before, after)
		}
	}
}

func medianOf(samples []sample, of func(sample) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
