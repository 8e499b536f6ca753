package httpfront_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
)

func TestMetricsAreThereWhereTheyAreGiven(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	})
	if got := b.call("GET", "/metrics", ""); got.status != http.StatusOK || got.body != "up 1\n" {
		t.Errorf("got %d %q", got.status, got.body)
	}
	if got := b.call("POST", "/metrics", "{}"); got.status != http.StatusMethodNotAllowed {
		t.Errorf("a POST got %d", got.status)
	}
	if got := newBench(t).call("GET", "/metrics", ""); got.status != http.StatusNotFound {
		t.Errorf("without metrics: %d", got.status)
	}
}
