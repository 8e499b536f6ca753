package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc: Linux counts in hundredths of a second towards programs, on every machine.
const tick = 10 * time.Millisecond

// cpuOf reads the processor time that a process has used, from /proc/<pid>/stat.
func cpuOf(stat string) (time.Duration, error) {
	// The second field is the program's name in brackets, and may hold blanks and brackets itself.
	at := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[at+1:])
	const user, system = 14 - 3, 15 - 3 // the first field here is the third
	if at < 0 || len(fields) <= system {
		return 0, fmt.Errorf("read processor time: %d fields", len(fields))
	}
	return ticks(fields[user : system+1])
}

// busyOf reads the processor time that the whole machine has used, from /proc/stat.
func busyOf(stat string) (time.Duration, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	// cpu user nice system idle iowait irq softirq steal; guests are counted in user already.
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("read processor time of the machine: %d fields", len(fields))
	}
	return ticks([]string{fields[1], fields[2], fields[3], fields[6], fields[7]})
}

func ticks(fields []string) (time.Duration, error) {
	var sum time.Duration
	for _, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read processor time: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// peakOf reads the most memory that a process ever had resident, in megabytes, from /proc/<pid>/status.
func peakOf(status string) (float64, error) {
	for line := range strings.Lines(status) {
		value, found := strings.CutPrefix(line, "VmHWM:")
		if !found {
			continue
		}
		kilobytes, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
		if err != nil {
			return 0, fmt.Errorf("read peak memory: %w", err)
		}
		return rounded(kilobytes / 1024), nil
	}
	return 0, fmt.Errorf("read peak memory: it is not there")
}

// readProc reads a file below /proc by one of the functions above; 0 where that is not possible, as on systems without /proc.
func readProc[N time.Duration | float64](read func(string) (N, error), path string) N {
	content, err := os.ReadFile("/proc/" + path)
	if err != nil {
		return 0
	}
	n, _ := read(string(bytes.TrimSpace(content)))
	return n
}
