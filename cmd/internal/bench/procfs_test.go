package bench

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestProcessorTimeOfAProcess(t *testing.T) {
	t.Parallel()
	rest := " S 1 2 2 0 -1 4194560 100 0 0 0 350 150 9 9 20 0 8 0 12345 1000 200 18446744073709551615"
	for _, tt := range []struct {
		name, stat string
		want       time.Duration
	}{
		{"user and system", "42 (reach)" + rest, 5 * time.Second},
		{"a name with blanks and brackets", "42 (a (b) c) 1 2)" + rest, 5 * time.Second},
		{"nothing", "", -1},
		{"too few fields", "42 (reach) S 1 2", -1},
		{"no number", "42 (reach)" + strings.Replace(rest, "350", "x", 1), -1},
	} {
		got, err := cpuOf(tt.stat)
		if err != nil {
			got = -1
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestProcessorTimeOfTheMachine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stat string
		want       time.Duration
	}{
		{"without idling, waiting for disks, and what the host took", "cpu  100 10 50 9000 800 5 35 70 60 0\ncpu0 1 2 3 4 5 6 7 8", 2 * time.Second},
		{"nothing", "", -1},
		{"something else", "intr 1 2 3 4 5 6 7 8 9", -1},
	} {
		got, err := busyOf(tt.stat)
		if err != nil {
			got = -1
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestPeakMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, status string
		want         float64
	}{
		{"in megabytes", "Name:\treach\nVmPeak:\t  99999 kB\nVmHWM:\t    2560 kB\nVmRSS:\t 1 kB\n", 2.5},
		{"a process that has ended", "Name:\treach\nState:\tZ (zombie)\n", -1},
		{"no number", "VmHWM:\tmuch kB\n", -1},
	} {
		got, err := peakOf(tt.status)
		if err != nil {
			got = -1
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestThisProcessAndMachine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	if readProc(peakOf, "self/status") <= 0 || readProc(busyOf, "stat") <= 0 {
		t.Error("nothing was read of this process or machine")
	}
	if readProc(peakOf, "self/"+t.Name()) != 0 {
		t.Error("something was read of a file that is not there")
	}
	m := startMeter([]member{{roleCaller, self}, {roleBroker, pidOf(os.Getpid())}})
	out := Measurement{N: 10}
	m.stop(&out)
	if out.PeakByRole[roleBroker] <= 0 || out.PeakMB != out.PeakByRole[roleBroker] || len(out.CPUByRole) != 2 || out.OthersCPU < 0 {
		t.Errorf("%+v", out)
	}
}
