package bench

import (
	"math"
	"slices"
	"time"
)

// The systems that are measured.
const (
	Reach         = "agent-reach"
	FloorWrites   = "floor-writes"   // two persisted writes for each task, through one pull consumer
	FloorRequests = "floor-requests" // one core request and its reply
	FloorStream   = "floor-stream"   // core messages under a window of 16
	FloorChain    = "floor-chain"    // the very messages of the product, from processes that look at nothing in them
)

// Measurement is one scenario, run once on one system.
type Measurement struct {
	System       string  `json:"system"`
	Scenario     string  `json:"scenario"`
	Repetition   int     `json:"repetition"`
	N            int     `json:"n"`
	PayloadBytes int     `json:"payload_bytes"`
	Agents       int     `json:"agents,omitzero"`
	Dispatchers  int     `json:"dispatchers,omitzero"`
	TasksPerS    float64 `json:"tasks_per_s"`
	P50MS        float64 `json:"p50_ms"`
	P99MS        float64 `json:"p99_ms"`

	CPUPerTaskUS float64            `json:"cpu_us_per_task"`     // of all processes of the system, the callers' included
	CPUByRole    map[string]float64 `json:"cpu_us_by_role"`      // the same, by caller, worker, dispatcher and broker
	OthersCPU    float64            `json:"other_cpu_percent"`   // of the machine, used by anybody else meanwhile
	PeakMB       float64            `json:"peak_mb"`             // most that broker, dispatchers and worker had resident, added up
	PeakByRole   map[string]float64 `json:"peak_mb_by_role"`     // the same, apart
	OpenTasks    int                `json:"open_tasks,omitzero"` // in the ledger beside what was measured
	StartSeconds map[string]float64 `json:"start_s,omitempty"`   // of a process that reads those, by role
}

// fill sets what follows from the latencies of tasks that took elapsed together.
func (m *Measurement) fill(latencies []time.Duration, elapsed time.Duration) {
	slices.Sort(latencies)
	m.N = len(latencies)
	m.TasksPerS = rounded(float64(m.N) / elapsed.Seconds())
	m.P50MS = milliseconds(quantile(latencies, 0.50))
	m.P99MS = milliseconds(quantile(latencies, 0.99))
}

// quantile is the smallest of the sorted values that at least the share q does not exceed; 0 where there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func milliseconds(d time.Duration) float64 { return rounded(d.Seconds() * 1e3) }

// rounded keeps three decimals: more are noise.
func rounded(x float64) float64 { return math.Round(x*1e3) / 1e3 }
