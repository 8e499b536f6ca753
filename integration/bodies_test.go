//go:build linux

package integration

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentreach/agent-reach/schemas"
)

var (
	bodyMB    = flag.Int("body-mb", 100, "how many megabytes each body of TestLargeBodiesTakeLittleMemory has")
	bodyCount = flag.Int("bodies", 0, "how many of them there are; 0 leaves it out")
	bodyOnce  = flag.Int("bodies-at-once", 2, "how many of them at once")
)

// TestLargeBodiesTakeLittleMemory moves payloads and results over HTTP, there and back, and looks at the memory that the dispatcher's
// process has taken at its peak.
func TestLargeBodiesTakeLittleMemory(t *testing.T) {
	if *bodyCount == 0 {
		t.Skip("go test ./integration -run TestLargeBodiesTakeLittleMemory -bodies 3")
	}
	h := newHouseApart(t, 1)
	h.dispatchers[0].stop()
	h.write("reach.yaml", "log: {level: info, format: json}\n") // with the limits as they are by themselves
	h.dispatchers[0].start()
	h.dispatchers[0].until("dispatcher up")
	c := &porter{t: t, front: h.fronts[0], id: "phone"}
	c.post("/v1/agents", fmt.Sprintf(
		`{"agent_id":"phone","instance_id":"1","version":"1.0.0","transport":{"type":"claim"},"capabilities":[{"id":"echo","max_concurrency":%d}]}`,
		*bodyOnce), "")
	before := peakMemory(t, h.dispatchers[0])
	body := `"` + strings.Repeat("x", *bodyMB*1_000_000-2) + `"`
	var group errgroup.Group
	group.SetLimit(*bodyOnce)
	for i := range *bodyCount {
		group.Go(func() error {
			c.there(fmt.Sprint(i), body)
			return nil
		})
	}
	_ = group.Wait()
	peak := peakMemory(t, h.dispatchers[0])
	t.Logf("%d bodies of %d MB there and back, %d at once: %d MB at the peak, %d MB before", *bodyCount, *bodyMB, *bodyOnce, peak>>20, before>>20)
	limit := before + int64(96<<20)*int64(*bodyOnce)
	if underRace {
		limit *= 4
	}
	if peak > min(limit, 512<<20) {
		t.Errorf("%d bytes of memory at the peak, more than %d", peak, min(limit, 512<<20))
	}
}

// porter is an agent that claims, and the caller of its tasks.
type porter struct {
	t     *testing.T
	front string
	id    string
}

// there is a payload's way to the agent, and its way back as the result.
func (c *porter) there(name, body string) {
	c.post("/v1/tasks", `{"capability":"echo","msg_id":"`+name+`","payload":`+body+`}`, "")
	var claimed schemas.Claimed
	var message schemas.ReachMessage
	for wanted := time.Now().Add(time.Minute); len(claimed.Assignments) == 0 && time.Now().Before(wanted); {
		if err := schemas.Decode(c.post("/v1/agents/"+c.id+"/claims?wait=20s", `{"instance_id":"1","free_total":1}`, ""), &claimed); err != nil {
			c.t.Error(err)
			return
		}
	}
	if len(claimed.Assignments) != 1 || schemas.Decode(claimed.Assignments[0].Message, &message) != nil || string(message.Payload) != body {
		c.t.Errorf("the payload does not come with its claim: %d assignments", len(claimed.Assignments))
		return
	}
	c.post("/v1/tasks/"+message.TaskID+"/result", `{"agent_id":"`+c.id+`","instance_id":"1","result":`+body+`}`,
		fmt.Sprint(claimed.Assignments[0].Sequence))
	response, err := http.Get(c.front + "/v1/tasks/" + message.TaskID + "/result?wait=20s")
	if err != nil {
		c.t.Error(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	if got, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(got, []byte(body)) {
		c.t.Errorf("the result has %d bytes, want %d: %v", len(got), len(body), err)
	}
}

// post sends a request until it is neither busy nor failed, and gives the answer.
func (c *porter) post(path, body, token string) []byte {
	for tries := 0; ; tries++ {
		request, err := http.NewRequest(http.MethodPost, c.front+path, strings.NewReader(body))
		if err != nil {
			c.t.Error(err)
			return nil
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Reach-Token", token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			c.t.Error(err)
			return nil
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil && response.StatusCode < 300 {
			return answer
		}
		if response.StatusCode != http.StatusServiceUnavailable || tries > 10 {
			c.t.Errorf("POST %s: status %d, %.300s, %v", path, response.StatusCode, answer, err)
			return nil
		}
	}
}

// peakMemory is the most that a process has had resident.
func peakMemory(t *testing.T, p *process) (bytes int64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid()))
	check(t, err)
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	_, err = fmt.Sscan(line, &bytes)
	check(t, err)
	return bytes << 10
}
