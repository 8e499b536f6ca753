package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options say what is measured. The zero value is useful.
type Options struct {
	Scenarios    []string // A, B, C, D, Q, R, M; all but R and M when empty
	Repetitions  int      // of every scenario, in turn; 3. M runs once
	Tasks        int      // of A and D, and chunks of C; 20,000
	LatencyTasks int      // of B, one at a time, and a quarter of them of C1; 2,000
	QueueTasks   int      // of Q; 20,000
	OpenTasks    int      // of M; 1,000,000
	PayloadBytes int      // 300

	Lasts      time.Duration // of R; 1 m
	Limit      time.Duration // of one measurement; 5 m, and of M 30 m
	ProfileDir string        // for a processor profile of each process; "" for none
	Program    string        // what the processes run; this program
	Environ    []string      // theirs, less the product's own settings

	// Note says what is being measured; Emit takes what was. Both are called by Run's goroutine.
	Note func(format string, args ...any)
	Emit func(Measurement)
}

// Groups are the scenarios that can be asked for.
var Groups = []string{"A", "B", "C", "D", "Q", "R", "M"}

func (o Options) withDefaults() Options {
	if len(o.Scenarios) == 0 {
		o.Scenarios = []string{"A", "B", "C", "D", "Q"}
	}
	o.Repetitions = cmp.Or(o.Repetitions, 3)
	o.Tasks = cmp.Or(o.Tasks, 20_000)
	o.LatencyTasks = cmp.Or(o.LatencyTasks, 2_000)
	o.QueueTasks = cmp.Or(o.QueueTasks, 20_000)
	o.OpenTasks = cmp.Or(o.OpenTasks, 1_000_000)
	o.PayloadBytes = cmp.Or(o.PayloadBytes, 300)
	o.Lasts = cmp.Or(o.Lasts, time.Minute)
	return o
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	for _, name := range o.Scenarios {
		if !slices.Contains(Groups, name) {
			return fmt.Errorf("%q is no scenario; they are %s", name, strings.Join(Groups, ", "))
		}
	}
	for _, n := range []int{o.Repetitions, o.Tasks, o.LatencyTasks, o.QueueTasks, o.OpenTasks} {
		if n < 0 {
			return fmt.Errorf("%d is no number of tasks or repetitions", n)
		}
	}
	if o.Lasts < 0 {
		return fmt.Errorf("%v is no time that a measurement lasts", o.Lasts)
	}
	if o.PayloadBytes != 0 && o.PayloadBytes < leastPayload {
		return fmt.Errorf("a payload has at least %d bytes", leastPayload)
	}
	return nil
}

// bench is one run of Run.
type bench struct {
	options    Options
	path       string // of the program
	payload    []byte
	repetition int
	profiles   int // made so far
}

// Run measures the scenarios, interleaved, and returns all that was measured; what was measured before an error, too.
func Run(ctx context.Context, options Options) ([]Measurement, error) {
	b, err := newBench(options.withDefaults())
	if err != nil {
		return nil, err
	}
	var all []Measurement
	for b.repetition = 1; b.repetition <= b.options.Repetitions; b.repetition++ {
		for _, s := range scenarios() {
			if !b.wants(s) {
				continue
			}
			measured, err := b.runOne(ctx, s)
			all = append(all, measured...)
			if err != nil {
				return all, fmt.Errorf("measure %s of %s: %w", s.name, s.system, err)
			}
		}
	}
	return all, nil
}

func newBench(options Options) (*bench, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	b := &bench{options: options, path: options.Program, payload: payloadOf(options.PayloadBytes)}
	var err error
	if b.path == "" {
		if b.path, err = executable(); err != nil {
			return nil, err
		}
	}
	if options.ProfileDir == "" {
		return b, nil
	}
	if b.options.ProfileDir, err = filepath.Abs(options.ProfileDir); err == nil {
		err = os.MkdirAll(b.options.ProfileDir, 0o755)
	}
	return b, err
}

func (b *bench) wants(s scenario) bool {
	return slices.Contains(b.options.Scenarios, s.group) && (s.group != "M" || b.repetition == 1)
}

func (b *bench) runOne(ctx context.Context, s scenario) ([]Measurement, error) {
	ctx, cancel := context.WithTimeout(ctx, b.limit(s))
	defer cancel()
	b.options.Note("%s of %s, %d of %d", s.name, s.system, b.repetition, b.options.Repetitions)
	measured, err := s.run(ctx, b, s)
	for _, m := range measured {
		b.options.Emit(m)
	}
	return measured, err
}

// limit bounds one measurement.
func (b *bench) limit(s scenario) time.Duration {
	if s.group == "M" {
		return cmp.Or(b.options.Limit, 30*time.Minute)
	}
	return cmp.Or(b.options.Limit, 5*time.Minute)
}
