package worker

import "time"

// surplus is how many of the tasks that wait for a capability will not start soon enough, the newest ones, and when to look again
// if nothing happens before. Behind width slots that each take mean for a task, the nth in line waits n·mean/width; a mean of 0
// is not known yet. Whatever the speed promised: once the line has stood still for limit, all are surplus.
func surplus(waiting, width int, mean, still, limit time.Duration) (n int, again time.Duration) {
	if waiting == 0 || still >= limit {
		return waiting, 0
	}
	keep := waiting
	if mean > 0 {
		keep = min(waiting, int(limit*time.Duration(width)/mean))
	}
	if keep == 0 {
		return waiting, 0
	}
	return waiting - keep, limit - still
}
