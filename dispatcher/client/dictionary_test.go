package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

// TestADictionaryLargerThanAMessageIsListed has one of some 3 MiB behind a broker whose messages hold 1 MiB.
func TestADictionaryLargerThanAMessageIsListed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stop := b.serve()
	defer stop()
	const entries = 50
	for i := range entries {
		entry := schemas.Capability{
			ID: fmt.Sprintf("large_%02d", i), InputSchema: fmt.Appendf(nil, `{"title":%q}`, strings.Repeat("x", 60<<10)), OutputSchema: []byte("true"),
		}
		if _, err := b.house.AddCapability(t.Context(), &schemas.AddCapability{Capability: entry}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := b.ListCapabilities(patiently(t))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, c := range page.Items {
		seen[c.ID] = true
	}
	if len(seen) != len(page.Items) || len(seen) < entries || !seen["large_49"] {
		t.Errorf("%d entries, %d of them different; want %d and those of the house", len(page.Items), len(seen), entries)
	}
	if page.NextPageToken != "" {
		t.Error("the whole list names a next page")
	}
}
