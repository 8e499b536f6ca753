package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/bench"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
)

func (a *app) benchCommand() *cobra.Command {
	o := bench.Options{Environ: a.environ, Emit: func(m bench.Measurement) { a.print(m) }, Note: a.note}
	full := false
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure Agent-Reach on this machine, compared with plain NATS",
		Long: `Measure Agent-Reach on this machine. Broker, dispatchers and a worker run as separate processes, callers use the Go SDK,
and everything goes over TCP on the loopback interface. In turn with it, floors are measured with the plain NATS client: two persisted
writes for each task, a core request, core messages under a window, and the same messages as the product's, sent by processes that do
not look into them. Nothing that already runs on this machine is touched.

  A  throughput: 4 callers with up to 1,024 tasks outstanding each, 64 slots; compared with two persisted writes for each task,
     and with the same messages alone
  B  latency: one task at a time; compared with one core request, and with the same messages alone
  C  a stream: chunks a second from an agent to its caller, compared with core messages under the same window of 16; and as C1
     the time from a submit to the first chunk
  D  A, spread over 4, 50, 500 and 2,000 agents
  Q  a queue that was full before the first agent came, emptied by one dispatcher and by three
  R  tasks at random times for ten agents of 20 to 200 ms, at 70 % of their capacity: the agent chosen in turn, by the usual
     score, and by a score that only looks at speed (three minutes; only if you name it)
  M  a million open tasks: submits and lookups among them, memory, start-up (once; some minutes)

Each measurement is a line of JSON on stdout. At the end, also if you interrupt it, comes a table of medians with the lowest and the
highest of the repetitions (with -o json on stderr). Every reach command writes a processor profile into the file that REACH_CPUPROFILE
names.`,
		Example: `  reach bench
  reach bench --scenarios A,B --repetitions 5
  reach bench --full -o json > bench.jsonl
  reach bench --scenarios R --repetitions 1
  reach bench --scenarios A --profile profiles`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error { return a.runBench(command, o, full) },
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.Scenarios, "scenarios", nil, "`NAMES` of the scenarios to measure (default A,B,C,D,Q; with --full M too)")
	flags.IntVar(&o.Repetitions, "repetitions", 0, "how often each scenario is measured, in turn (default 3; with --full 5)")
	flags.IntVar(&o.Tasks, "tasks", 0, "tasks of A and D, chunks of C (default 20000; with --full 50000)")
	flags.IntVar(&o.LatencyTasks, "latency-tasks", 0, "tasks of B, and of M in addition to the open ones (default 2000)")
	flags.IntVar(&o.QueueTasks, "queue-tasks", 0, "tasks of Q (default 20000; with --full 50000)")
	flags.IntVar(&o.OpenTasks, "open-tasks", 0, "open tasks of M (default 1000000)")
	flags.IntVar(&o.PayloadBytes, "payload", 0, "bytes of a task's payload (default 300)")
	flags.DurationVar(&o.Lasts, "lasts", 0, "how long R submits tasks (default 1m)")
	flags.DurationVar(&o.Limit, "limit", 0, "how long one measurement may take (default 5m; M 30m)")
	flags.StringVar(&o.ProfileDir, "profile", "", "`FOLDER` for a processor profile of each process")
	flags.BoolVar(&full, "full", false, "all scenarios, more tasks, five repetitions")
	command.AddCommand(a.benchWorkerCommand())
	return command
}

// fully is what --full stands for, where nothing else is said.
func fully(o bench.Options) bench.Options {
	if len(o.Scenarios) == 0 {
		o.Scenarios = []string{"A", "B", "D", "Q", "M"}
	}
	o.Repetitions = cmp.Or(o.Repetitions, 5)
	o.Tasks = cmp.Or(o.Tasks, 50_000)
	o.QueueTasks = cmp.Or(o.QueueTasks, 50_000)
	return o
}

func (a *app) runBench(command *cobra.Command, o bench.Options, full bool) error {
	if full {
		o = fully(o)
	}
	if err := o.Check(); err != nil {
		return exit.UsageError("%s", err)
	}
	all, err := bench.Run(command.Context(), o)
	if len(all) > 0 {
		a.benchReport(all)
	}
	if err != nil && command.Context().Err() != nil { // whatever went wrong in the processes that it was taken from
		return exit.Interrupted
	}
	return err
}

func (a *app) benchReport(all []bench.Measurement) {
	out := a.stdout
	if a.json() {
		out = a.stderr
	}
	_, _ = fmt.Fprintln(out)
	view.Rows(out, bench.Header, bench.Table(all))
	if ratios := bench.Ratios(all); len(ratios) > 0 {
		_, _ = fmt.Fprintln(out)
		view.Rows(out, bench.RatioHeader, ratios)
	}
}

func (a *app) benchWorkerCommand() *cobra.Command {
	var w bench.Worker
	command := &cobra.Command{
		Use:   "worker",
		Short: "Serve agents that only echo, as the benchmark's worker does",
		Long: `Serve agents of the capability echo that answer each task with its payload: the worker's side of the benchmark, for a
benchmark that you drive by hand or spread over machines. With --system it is the worker's side of a floor instead, without agents.`,
		Example: "  reach bench worker --server nats://127.0.0.1:4222 --agents 50 --slots 2",
		Args:    noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if w.Agents < 1 && w.System == bench.Reach || w.Slots < 1 && w.System == bench.Reach || w.Takes < 0 {
				return exit.UsageError("--agents and --slots take a number from 1 on, --takes a time")
			}
			settings, err := a.settings(command)
			if err != nil {
				return err
			}
			w.Logger = a.logger(settings)
			return stopped(command.Context(), w.Run(command.Context(), func() { w.Logger.Info().Msg(bench.WorkerUp) }))
		},
	}
	flags := command.Flags()
	flags.StringVarP(&w.URL, "server", "s", defaultURL, "`URL` of the broker")
	flags.StringVar(&w.System, "system", bench.Reach, "agent-reach, floor-writes, floor-requests, floor-stream or floor-chain")
	flags.IntVar(&w.Agents, "agents", 4, "how many agents")
	flags.IntVar(&w.Slots, "slots", 16, "tasks that each agent runs at once")
	flags.DurationVar(&w.Takes, "takes", 0*time.Second, "how long an agent works on a task, such as 20ms")
	flags.BoolVar(&w.Uneven, "uneven", false, "the second agent takes twice as long, the third three times as long, and so on")
	configFlags(command)
	return command
}
