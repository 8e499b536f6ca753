package meaning

import (
	"fmt"
	"testing"
)

func TestTheCacheIsBoundedAndForgetsWhatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	c := newCache(100_000)
	vector := make([]float32, 256)
	for n := range 1000 {
		c.put(fmt.Sprint("text ", n), vector)
		c.get("text 0")
		if c.bytes > c.limit {
			t.Fatalf("it has %d bytes", c.bytes)
		}
	}
	if _, found := c.get("text 0"); !found {
		t.Error("what was asked for all the time is forgotten")
	}
	if _, found := c.get("text 1"); found {
		t.Error("what nobody has asked for is remembered")
	}
	if c.recent.Len() != len(c.byText) || len(c.byText) < 50 {
		t.Errorf("%d in the list, %d in the map", c.recent.Len(), len(c.byText))
	}
	if missing := c.missing([]string{"text 0", "new", "new", "text 1"}); len(missing) != 2 {
		t.Errorf("missing are %v", missing)
	}
}
