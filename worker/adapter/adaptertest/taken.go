package adaptertest

import "runtime"

// Taken is how many bytes the process has allocated while do ran. Nothing else may run meanwhile.
func Taken(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}
