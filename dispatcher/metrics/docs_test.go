package metrics_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/metrics"
	"github.com/agentreach/agent-reach/schemas"
)

func TestThePageNamesEveryMetricAndNoOther(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, row := range regexp.MustCompile("(?m)^\\| `(reach_[a-z_]+)`").FindAllSubmatch(page, -1) {
		named[string(row[1])] = true
	}
	m := metrics.New(func() metrics.House {
		return metrics.House{
			States: map[schemas.AgentState]int{schemas.AgentOnline: 1}, Capabilities: []metrics.Capability{{ID: "echo"}},
			Agents: []metrics.Agent{{ID: "a", Series: []metrics.Series{{Capability: "echo", P95: 1}}}},
		}
	})
	m.Submitted("echo", 0)
	m.Refused(schemas.Internal)
	m.RouteHit("r")
	m.ShareMissed("r")
	m.Waited("echo", 0)
	m.Ended(ended(schemas.StateCompleted, ""), "")
	m.Retried(schemas.Internal)
	m.Moved("rescue")
	m.Bound(true)
	told := make(map[string]bool)
	for line := range strings.Lines(scrape(t, m)) {
		if name, ok := strings.CutPrefix(line, "# TYPE reach_"); ok {
			told["reach_"+strings.Fields(name)[0]] = true
		}
	}
	for name := range told {
		if !named[name] {
			t.Errorf("%s is not in docs/metrics.md", name)
		}
	}
	for name := range named {
		if !told[name] {
			t.Errorf("docs/metrics.md names %s, which is not there", name)
		}
	}
}
