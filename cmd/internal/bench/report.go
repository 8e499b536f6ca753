package bench

import (
	"cmp"
	"fmt"
	"slices"
)

// spread is the median of some values, and the least and the most of them.
type spread struct{ median, least, most float64 }

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return spread{median: (sorted[(n-1)/2] + sorted[n/2]) / 2, least: sorted[0], most: sorted[n-1]}
}

func (s spread) format(verb string) string {
	return fmt.Sprintf(verb+" ("+verb+"–"+verb+")", s.median, s.least, s.most)
}

// Header is that of Table.
var Header = []string{
	"SYSTEM", "SCENARIO", "N", "TASKS/S", "P50 MS", "P99 MS", "CPU µS/TASK", "PEAK MB", "OTHERS CPU %",
}

// Table is one row for each scenario of each system, in the order of their first measurement: medians over the repetitions, with the
// least and the most.
func Table(all []Measurement) [][]string {
	var rows [][]string
	for _, group := range grouped(all) {
		first := group[0]
		column := func(of func(Measurement) float64, verb string) string {
			return spreadOf(values(group, of)).format(verb)
		}
		rows = append(rows, []string{
			first.System, first.Scenario, fmt.Sprint(first.N),
			column(func(m Measurement) float64 { return m.TasksPerS }, "%.0f"),
			column(func(m Measurement) float64 { return m.P50MS }, "%.2f"),
			column(func(m Measurement) float64 { return m.P99MS }, "%.2f"),
			column(func(m Measurement) float64 { return m.CPUPerTaskUS }, "%.0f"),
			column(func(m Measurement) float64 { return m.PeakMB }, "%.0f"),
			column(func(m Measurement) float64 { return m.OthersCPU }, "%.0f"),
		})
	}
	return rows
}

func values(group []Measurement, of func(Measurement) float64) []float64 {
	out := make([]float64, 0, len(group))
	for _, m := range group {
		out = append(out, of(m))
	}
	return out
}

// grouped puts the repetitions of one scenario on one system together.
func grouped(all []Measurement) [][]Measurement {
	place := make(map[[2]string]int)
	var groups [][]Measurement
	for _, m := range all {
		key := [2]string{m.System, m.Scenario}
		at, found := place[key]
		if !found {
			at = len(groups)
			place[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], m)
	}
	return groups
}

// ratio compares two scenarios of the same repetition, which ran within moments of each other.
type ratio struct {
	name        string
	over, under [2]string // system, scenario
	of          func(Measurement) float64
	target      string
}

func throughput(m Measurement) float64 { return m.TasksPerS }
func median(m Measurement) float64     { return m.P50MS }
func slowest(m Measurement) float64    { return m.P99MS }

// ratios are what the product is judged by, and with the targets those that say why one is not reached.
var ratios = []ratio{
	{"throughput A / two writes", [2]string{Reach, "A"}, [2]string{FloorWrites, "A"}, throughput, "≥ 0.40"},
	{"throughput A / the same messages alone", [2]string{Reach, "A"}, [2]string{FloorChain, "A"}, throughput, ""},
	{"the same messages alone, A / two writes", [2]string{FloorChain, "A"}, [2]string{FloorWrites, "A"}, throughput, ""},
	{"p50 B / one request", [2]string{Reach, "B"}, [2]string{FloorRequests, "B"}, median, "≤ 3.00"},
	{"p50 B / the same messages alone", [2]string{Reach, "B"}, [2]string{FloorChain, "B"}, median, ""},
	{"the same messages alone, B / one request", [2]string{FloorChain, "B"}, [2]string{FloorRequests, "B"}, median, ""},
	{"chunks/s C / core messages under the same window", [2]string{Reach, "C"}, [2]string{FloorStream, "C"}, throughput, "≥ 0.50"},
	{"p50 of the first chunk C1 / one message", [2]string{Reach, "C1"}, [2]string{FloorStream, "C1"}, median, ""},
	{"throughput 2,000 agents / 4", [2]string{Reach, "D2000"}, [2]string{Reach, "D4"}, throughput, "≥ 0.75"},
	{"throughput queue, 3 dispatchers / 1", [2]string{Reach, "Q3"}, [2]string{Reach, "Q1"}, throughput, "≥ 0.80"},
	{"p50 uneven agents, by score / in turn", [2]string{Reach, "R-score"}, [2]string{Reach, "R-turn"}, median, "≤ 0.80"},
	{"p99 uneven agents, by score / in turn", [2]string{Reach, "R-score"}, [2]string{Reach, "R-turn"}, slowest, "≤ 0.80"},
	{"p50 uneven agents, usual score / in turn", [2]string{Reach, "R-usual"}, [2]string{Reach, "R-turn"}, median, ""},
	{"p50 submit and look, 1M open / none", [2]string{Reach, "M"}, [2]string{Reach, "M0"}, median, ""},
}

// RatioHeader is that of Ratios.
var RatioHeader = []string{"RATIO", "MEDIAN (LEAST–MOST)", "TARGET"}

// Ratios compares what was measured with the floors and with itself, repetition by repetition.
func Ratios(all []Measurement) [][]string {
	var rows [][]string
	for _, r := range ratios {
		if values := r.values(all); len(values) > 0 {
			rows = append(rows, []string{r.name, spreadOf(values).format("%.2f"), cmp.Or(r.target, "-")})
		}
	}
	return rows
}

func (r ratio) values(all []Measurement) []float64 {
	under := make(map[int]float64)
	for _, m := range all {
		if [2]string{m.System, m.Scenario} == r.under {
			under[m.Repetition] = r.of(m)
		}
	}
	var out []float64
	for _, m := range all {
		if [2]string{m.System, m.Scenario} == r.over && under[m.Repetition] > 0 {
			out = append(out, r.of(m)/under[m.Repetition])
		}
	}
	return out
}
