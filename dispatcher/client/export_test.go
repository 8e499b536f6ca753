package client

import "time"

// WithSlice sets how long one dispatcher is asked to wait.
func WithSlice(slice time.Duration) Option { return func(c *Client) { c.slice = slice } }

// NewMemory is the memory of SubscribeResults.
var NewMemory = newMemory

// IsNews asks the memory.
var IsNews = (*memory).isNews
