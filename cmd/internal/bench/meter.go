package bench

import (
	"runtime"
	"strconv"
	"time"
)

// The roles of processes.
const (
	roleCaller     = "caller" // this process
	roleWorker     = "worker"
	roleDispatcher = "dispatcher"
	roleBroker     = "broker"
)

// self stands for this process in /proc.
const self = "self"

// meter measures what the processes of a system use between its start and its stop.
type meter struct {
	members []member
	cpu     []time.Duration
	busy    time.Duration
	at      time.Time
}

// member is one process of the system.
type member struct{ role, pid string }

func startMeter(members []member) *meter {
	runtime.GC() // what the last measurement has left behind is not this one's
	m := &meter{members: members, busy: readProc(busyOf, "stat"), at: time.Now()}
	for _, p := range members {
		m.cpu = append(m.cpu, p.cpu())
	}
	return m
}

// stop notes what was used for m.N tasks.
func (m *meter) stop(out *Measurement) {
	elapsed := time.Since(m.at)
	busy := readProc(busyOf, "stat") - m.busy
	out.CPUByRole, out.PeakByRole = make(map[string]float64), make(map[string]float64)
	var own time.Duration
	for i, p := range m.members {
		used := p.cpu() - m.cpu[i]
		own += used
		out.CPUByRole[p.role] = rounded(out.CPUByRole[p.role] + perTask(used, out.N))
		if p.pid != self {
			peak := readProc(peakOf, p.pid+"/status")
			out.PeakByRole[p.role] = rounded(out.PeakByRole[p.role] + peak)
			out.PeakMB = rounded(out.PeakMB + peak)
		}
	}
	out.CPUPerTaskUS = perTask(own, out.N)
	out.OthersCPU = rounded(max(0, 100*(busy-own).Seconds()/elapsed.Seconds()/float64(runtime.NumCPU())))
}

func (p member) cpu() time.Duration { return readProc(cpuOf, p.pid+"/stat") }

// perTask is a task's share, in microseconds.
func perTask(used time.Duration, n int) float64 {
	return rounded(used.Seconds() * 1e6 / float64(max(1, n)))
}

func pidOf(pid int) string { return strconv.Itoa(pid) }
