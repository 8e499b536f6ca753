package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// The crew of R: agents of which the second takes twice as long as the first, the third three times as long, and so on.
const (
	unevenAgents = 10
	unevenSlots  = 4
	unevenFirst  = 20 * time.Millisecond
	unevenLoad   = .7 // of what they can do together
)

// choice is a way to choose an agent: what it is called, and the dispatcher's settings for it.
type choice struct{ name, router string }

// choices are compared by R: in turn, by the score as it is without settings, and by a score that looks at speed alone.
var choices = []choice{
	{"R-turn", "{default_strategy: round_robin}"},
	{"R-usual", "{default_strategy: score}"},
	{"R-score", "{default_strategy: score, score_weights: {latency: 1, schema_match: 0, history_success: 0, current_load: 0, version: 0}}"},
}

// choosing is scenario R: tasks come by chance, at a rate that uneven agents can just bear. An agent that is given more than it has slots
// for fails the measurement.
func choosing(c choice) scenario {
	return scenario{
		group: "R", name: c.name, system: Reach, dispatchers: 1, callers: 1,
		crew: crew{system: Reach, agents: unevenAgents, slots: unevenSlots, takes: unevenFirst, uneven: true},
		run: func(ctx context.Context, b *bench, s scenario) ([]Measurement, error) {
			return runChoosing(ctx, b, s, c)
		},
	}
}

// unevenRate is the tasks a second that come.
func unevenRate() float64 {
	rate := 0.0
	for n := range unevenAgents {
		rate += unevenSlots / (unevenFirst * time.Duration(n+1)).Seconds()
	}
	return rate * unevenLoad
}

func runChoosing(ctx context.Context, b *bench, s scenario, c choice) ([]Measurement, error) {
	stage, err := b.raise(ctx, s.system+"-"+s.name)
	if err != nil {
		return nil, err
	}
	defer stage.close(ctx)
	settings := filepath.Join(stage.data, "router.yaml")
	if err := os.WriteFile(settings, []byte("router: "+c.router+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	if err := stage.startAsDispatchers(ctx, s.dispatchers, "dispatcher up", "dispatcher", "--nats", stage.url, "-c", settings); err != nil {
		return nil, err
	}
	if err := stage.startWorker(ctx, s.crew); err != nil {
		return nil, err
	}
	if err := stage.connect(ctx, s); err != nil {
		return nil, err
	}
	chance := rand.New(rand.NewPCG(uint64(b.repetition), 1)) // the same tasks at the same moments for each choice
	arrivals := arrivals{client: stage.clients()[0], payload: b.payload, rate: unevenRate(), chance: chance}
	if _, _, err := arrivals.run(ctx, b.options.Lasts/10); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	m := s.measurement(b)
	meter := startMeter(stage.members())
	latencies, elapsed, err := arrivals.run(ctx, b.options.Lasts)
	if err != nil {
		return nil, err
	}
	m.fill(latencies, elapsed)
	meter.stop(&m)
	return []Measurement{m}, nil
}

// arrivals are tasks that come whether those before them have ended or not, at random moments.
type arrivals struct {
	client  *client.Client
	payload []byte
	rate    float64 // a second
	chance  *rand.Rand
}

// run submits tasks for a while and waits for all. It returns what each took, from its moment to its result. The first task that fails
// ends it.
func (a arrivals) run(ctx context.Context, lasts time.Duration) ([]time.Duration, time.Duration, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	var mu sync.Mutex
	var latencies []time.Duration
	start := time.Now()
	for at := a.gap(); at < lasts && pauseUntil(ctx, start.Add(at)); at += a.gap() {
		came := start.Add(at)
		all.Go(func() {
			if _, err := a.client.Do(ctx, &schemas.ReachMessage{Capability: Capability, Payload: a.payload}); err != nil {
				fail(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, time.Since(came))
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, 0, fmt.Errorf("run tasks: %w", context.Cause(ctx))
	}
	return latencies, time.Since(start), nil
}

// gap is the time between two tasks of a Poisson process.
func (a arrivals) gap() time.Duration {
	return time.Duration(a.chance.ExpFloat64() / a.rate * float64(time.Second))
}

// pauseUntil waits for a moment, and reports whether ctx has outlived it.
func pauseUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
