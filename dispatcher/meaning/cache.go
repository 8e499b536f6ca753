package meaning

import (
	"container/list"
	"sync"
)

// cache remembers vectors by the text that they stand for. The one that was asked for least recently makes room.
type cache struct {
	mu     *sync.Mutex
	limit  int // bytes
	bytes  int
	byText map[string]*list.Element
	recent *list.List // of remembered, the last one asked for first
}

type remembered struct {
	text   string
	vector []float32
}

// size is what an entry takes, roughly.
func (r remembered) size() int { return 2*len(r.text) + 4*len(r.vector) + 128 }

func newCache(limit int) cache {
	return cache{mu: new(sync.Mutex), limit: limit, byText: make(map[string]*list.Element), recent: list.New()}
}

func (c *cache) get(text string) ([]float32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, found := c.byText[text]
	if !found {
		return nil, false
	}
	c.recent.MoveToFront(place)
	return place.Value.(remembered).vector, true
}

// missing are the texts that are not known, each once.
func (c *cache) missing(texts []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []string
	seen := make(map[string]bool)
	for _, text := range texts {
		if _, found := c.byText[text]; !found && !seen[text] {
			seen[text] = true
			missing = append(missing, text)
		}
	}
	return missing
}

func (c *cache) put(text string, vector []float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place, found := c.byText[text]; found {
		c.drop(place)
	}
	entry := remembered{text, vector}
	c.byText[text] = c.recent.PushFront(entry)
	c.bytes += entry.size()
	for c.bytes > c.limit {
		c.drop(c.recent.Back())
	}
}

func (c *cache) drop(place *list.Element) {
	entry := c.recent.Remove(place).(remembered)
	delete(c.byText, entry.text)
	c.bytes -= entry.size()
}
