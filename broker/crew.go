package broker

import "sync"

// crew are the goroutines that run handlers, each one after the other: a new one for every request would have to grow its stack
// anew, which costs more than many a handler.
type crew struct {
	mu    sync.Mutex
	idle  []hand // the last that came is the first to be called
	done  bool
	hands sync.WaitGroup
}

// hand is where a goroutine of the crew waits for its next job.
type hand chan job

// job is a request and whose handler it is for.
type job struct {
	serving *serving
	request *Request
}

// mostIdle is how many goroutines stay when there is nothing to do.
const mostIdle = 1024

// run has a job done, at once. Nobody may call it once close is called.
func (c *crew) run(j job) {
	if h := c.rested(); h != nil {
		h <- j // it holds one
		return
	}
	c.hands.Go(func() { c.work(make(hand, 1), j) })
}

func (c *crew) rested() hand {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.idle) - 1
	if last < 0 {
		return nil
	}
	h := c.idle[last]
	c.idle = c.idle[:last]
	return h
}

func (c *crew) work(h hand, j job) {
	for more := true; more; j, more = <-h {
		j.serving.finish(j.request)
		j = job{} // a rest may be long
		if !c.rest(h) {
			return
		}
	}
}

// rest reports whether the goroutine is to wait for another job.
func (c *crew) rest(h hand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done || len(c.idle) >= mostIdle {
		return false
	}
	c.idle = append(c.idle, h)
	return true
}

// close returns when all have gone home.
func (c *crew) close() {
	c.mu.Lock()
	c.done = true
	for _, h := range c.idle {
		close(h)
	}
	c.idle = nil
	c.mu.Unlock()
	c.hands.Wait()
}
