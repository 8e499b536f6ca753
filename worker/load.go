package worker

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// loadAverage is the load of the last minute divided by the cores; 0 on a system that does not tell.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	return parseLoad(string(text), runtime.NumCPU())
}

func parseLoad(text string, cores int) float64 {
	minute, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(minute, 64)
	if err != nil || !(load >= 0 && load < 1e6) {
		return 0
	}
	return load / float64(max(1, cores))
}
