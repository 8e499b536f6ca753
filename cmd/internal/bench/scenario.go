package bench

import (
	"context"
	"fmt"

	"github.com/agentreach/agent-reach/cmd/internal/bench/floor"
)

// scenario is one measurement of one system.
type scenario struct {
	group  string // what it is asked for by
	name   string
	system string
	run    func(ctx context.Context, b *bench, s scenario) ([]Measurement, error)

	crew        crew
	dispatchers int
	callers     int
	outstanding int // of each caller
}

// slots are what the agents of a scenario have together, as far as each has at least one.
const slots = 64

// spreadOver is a crew of so many agents.
func spreadOver(agents int) crew {
	return crew{system: Reach, agents: agents, slots: max(1, slots/agents)}
}

// many is scenario A: four callers with up to 1,024 tasks outstanding each.
func many(s scenario) scenario {
	s.run, s.callers, s.outstanding = runLoad, 4, 1024
	return s
}

// single is scenario B: one task at a time.
func single(s scenario) scenario {
	s.run, s.callers, s.outstanding = runLoad, 1, 1
	return s
}

// scenarios are all there are, each floor just before what is compared with it.
func scenarios() []scenario {
	list := []scenario{
		many(scenario{group: "A", name: "A", system: FloorWrites, crew: crew{system: FloorWrites, agents: 1, slots: slots}}),
		many(scenario{group: "A", name: "A", system: FloorChain, crew: crew{system: FloorChain, agents: 1, slots: slots}}),
		many(scenario{group: "A", name: "A", system: Reach, crew: spreadOver(4), dispatchers: 1}),
		single(scenario{group: "B", name: "B", system: FloorRequests, crew: crew{system: FloorRequests, agents: 1, slots: 1}}),
		single(scenario{group: "B", name: "B", system: FloorChain, crew: crew{system: FloorChain, agents: 1, slots: 1}}),
		single(scenario{group: "B", name: "B", system: Reach, crew: spreadOver(4), dispatchers: 1}),
	}
	for _, system := range []string{FloorStream, Reach} {
		s := scenario{group: "C", name: "C", system: system, run: runStream, crew: crew{system: system, agents: 1, slots: 1}, callers: 1}
		if system == Reach {
			s.dispatchers = 1
		}
		list = append(list, s)
	}
	for _, agents := range []int{4, 50, 500, 2000} {
		name := fmt.Sprintf("D%d", agents)
		list = append(list, many(scenario{group: "D", name: name, system: Reach, crew: spreadOver(agents), dispatchers: 1}))
	}
	for _, dispatchers := range []int{1, 3} {
		name := fmt.Sprintf("Q%d", dispatchers)
		list = append(list, scenario{
			group: "Q", name: name, system: Reach, run: runQueue, crew: spreadOver(4), dispatchers: dispatchers, callers: 4,
		})
	}
	for _, c := range choices {
		list = append(list, choosing(c))
	}
	return append(list, scenario{group: "M", name: "M", system: Reach, run: runMillion, crew: spreadOver(4), dispatchers: 1, callers: 4})
}

// tasks is how many tasks a scenario measures.
func (b *bench) tasks(s scenario) int {
	switch s.group {
	case "B":
		return b.options.LatencyTasks
	case "Q":
		return b.options.QueueTasks
	}
	return b.options.Tasks
}

// warmUp is how many tasks run before the measured ones.
func warmUp(tasks int) int { return min(max(tasks/10, 1), 2000) }

// runLoad measures tasks that callers send and wait for.
func runLoad(ctx context.Context, b *bench, s scenario) ([]Measurement, error) {
	stage, err := b.furnish(ctx, s)
	if err != nil {
		return nil, err
	}
	defer stage.close(ctx)
	return b.measure(ctx, s, stage)
}

// furnish is a stage with all that a scenario needs: its worker, and its callers, connected.
func (b *bench) furnish(ctx context.Context, s scenario) (*stage, error) {
	stage, err := b.raise(ctx, s.system+"-"+s.name)
	if err != nil {
		return nil, err
	}
	err = stage.prepare(ctx, s)
	if err == nil {
		err = stage.startWorker(ctx, s.crew)
	}
	if err == nil {
		err = stage.connect(ctx, s)
	}
	if err != nil {
		stage.close(ctx)
		return nil, err
	}
	return stage, nil
}

// prepare sets up what the worker of a scenario needs beside the broker.
func (s *stage) prepare(ctx context.Context, of scenario) error {
	switch of.system {
	case FloorWrites:
		return floor.SetUp(ctx, s.url)
	case FloorChain:
		if err := floor.SetUpChain(ctx, s.url); err != nil {
			return err
		}
		return s.startChainDispatcher(ctx)
	}
	return s.startDispatchers(ctx, of.dispatchers)
}

func (b *bench) measure(ctx context.Context, s scenario, stage *stage) ([]Measurement, error) {
	l := load{callers: stage.callers, outstanding: s.outstanding, tasks: warmUp(b.tasks(s)), payload: b.payload}
	if _, _, err := l.run(ctx); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	l.tasks = b.tasks(s)
	m := s.measurement(b)
	meter := startMeter(stage.members())
	latencies, elapsed, err := l.run(ctx)
	if err != nil {
		return nil, err
	}
	m.fill(latencies, elapsed)
	meter.stop(&m)
	return []Measurement{m}, nil
}

// measurement is what is known before anything is measured.
func (s scenario) measurement(b *bench) Measurement {
	return Measurement{
		System: s.system, Scenario: s.name, Repetition: b.repetition, PayloadBytes: len(b.payload), Agents: s.crew.agents,
		Dispatchers: s.dispatchers,
	}
}
