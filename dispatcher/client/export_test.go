package client

import "time"

// WithSlice sets how long one dispatcher is asked to wait.
func WithSlice(slice time.Duration) Option { return func(c *Client) { c.slice = slice } }

// WithLook sets how often a task is looked at of which nothing is heard.
func WithLook(look time.Duration) Option { return func(c *Client) { c.look = look } }

// NewMemory is the memory of SubscribeResults.
var NewMemory = newMemory

// IsNews asks the memory.
var IsNews = (*memory).isNews

// FewEars is how many tasks are heard of each by its own subject.
const FewEars = fewEars

// WithLate sets after what time a result that is not heard is asked for.
func WithLate(late time.Duration) Option { return func(c *Client) { c.late = late } }

// HearsAll reports whether all results of the tenant are heard.
func (c *Client) HearsAll() bool {
	c.ears.mu.Lock()
	defer c.ears.mu.Unlock()
	return c.ears.all != nil
}

// WithSubmits bounds what is submitted at once.
func WithSubmits(n int) Option { return func(c *Client) { c.submitting = make(chan struct{}, n) } }
