package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// later is when the tasks start that lie in the ledger meanwhile.
const later = 12 * time.Hour

// runMillion measures a caller that submits a task and looks at it, first beside an empty ledger, then beside one with very many
// open tasks; and how long the broker, killed, and the dispatcher need to come up again with those.
func runMillion(ctx context.Context, b *bench, s scenario) ([]Measurement, error) {
	stage, err := b.raise(ctx, s.system+"-"+s.name)
	if err != nil {
		return nil, err
	}
	defer stage.close(ctx)
	if err := stage.startDispatchers(ctx, s.dispatchers); err != nil {
		return nil, err
	}
	if err := stage.startWorker(ctx, s.crew); err != nil {
		return nil, err
	}
	if err := stage.connect(ctx, s); err != nil {
		return nil, err
	}
	without, err := b.submitAndLook(ctx, s, stage)
	if err != nil {
		return nil, err
	}
	without.Scenario = "M0"
	scheduled := schemas.ReachMessage{Capability: Capability, Payload: b.payload, NotBefore: schemas.At(time.Now().Add(later))}
	if err := submitAll(ctx, stage.clients(), scheduled, b.options.OpenTasks); err != nil {
		return nil, err
	}
	with, err := b.submitAndLook(ctx, s, stage)
	if err != nil {
		return nil, err
	}
	with.OpenTasks = b.options.OpenTasks
	with.StartSeconds, err = stage.restart(ctx)
	return []Measurement{without, with}, err
}

func (b *bench) submitAndLook(ctx context.Context, s scenario, stage *stage) (Measurement, error) {
	m := s.measurement(b)
	l := load{callers: []caller{looker{stage.clients()[0]}}, outstanding: 1, tasks: b.options.LatencyTasks, payload: b.payload}
	meter := startMeter(stage.members())
	latencies, elapsed, err := l.run(ctx)
	if err != nil {
		return m, fmt.Errorf("submit and look: %w", err)
	}
	m.fill(latencies, elapsed)
	meter.stop(&m)
	return m, nil
}

// looker submits a task and looks at it once.
type looker struct{ client *client.Client }

func (l looker) call(ctx context.Context, payload []byte, done func(error)) {
	task, err := l.client.Submit(ctx, &schemas.ReachMessage{Capability: Capability, Payload: payload})
	if err == nil {
		_, err = l.client.Task(ctx, task.TaskID)
	}
	done(err)
}

// restart kills the broker and starts it again, and then the dispatcher, and returns what each has needed to be up.
func (s *stage) restart(ctx context.Context) (map[string]float64, error) {
	took := make(map[string]float64)
	s.broker.kill()
	start := time.Now()
	address := strings.TrimPrefix(s.url, "nats://")
	broker, err := s.program.start(roleBroker, "broker", "--data", filepath.Join(s.data, "broker"), "--nats", address)
	if err != nil {
		return nil, err
	}
	s.broker = broker
	if _, err := s.broker.says(ctx, "broker up"); err != nil {
		return nil, err
	}
	took[roleBroker] = rounded(time.Since(start).Seconds())
	for _, d := range s.dispatchers {
		d.stop(ctx)
	}
	s.dispatchers = nil
	start = time.Now()
	err = s.startDispatchers(ctx, 1)
	took[roleDispatcher] = rounded(time.Since(start).Seconds())
	return took, err
}
