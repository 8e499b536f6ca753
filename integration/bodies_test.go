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
	bodyOf    = flag.String("bodies-of", "text", "what they are made of: text, or numbers")
	bodyOnce  = flag.Int("bodies-at-once", 2, "how many of them at once")
)

// TestLargeBodiesTakeLittleMemory moves payloads and results over HTTP, there and back, and looks at the memory that the dispatcher's
// process has taken at its peak.
func TestLargeBodiesTakeLittleMemory(t *testing.T) {
	if *bodyCount == 0 {
		t.Skip("go test ./integration -run TestLargeBodiesTakeLittleMemory -bodies 3")
	}
	h := newWideHouse(t)
	c := &porter{t: t, front: h.fronts[0], id: "phone"}
	c.post("/v1/agents", fmt.Sprintf(
		`{"agent_id":"phone","instance_id":"1","version":"1.0.0","transport":{"type":"claim"},"capabilities":[{"id":"echo","max_concurrency":%d}]}`,
		*bodyOnce), "")
	before := peakMemory(t, h.dispatchers[0])
	body := largeBody(*bodyMB * 1_000_000)
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
	if *bodyOf == "numbers" { // read whole, and brought into their canonical form
		limit = before + int64(3*len(body))*int64(*bodyOnce)
	}
	if underRace {
		limit *= 4
	}
	if peak > min(limit, 512<<20) {
		t.Errorf("%d bytes of memory at the peak, more than %d", peak, min(limit, 512<<20))
	}
}

// newWideHouse is a dispatcher with the limits that it has by itself.
func newWideHouse(t *testing.T) *house {
	t.Helper()
	h := newHouseApart(t, 1)
	h.dispatchers[0].stop()
	h.write("reach.yaml", "log: {level: info, format: json}\n")
	h.dispatchers[0].start()
	h.dispatchers[0].until("dispatcher up")
	return h
}

// TestAWorkerTakesLittleMemoryForLargeBodies has an agent over HTTP and one that is a program give large payloads back, one after the
// other, and looks at the memory that their workers have taken at their peaks: the payload and the result once each.
func TestAWorkerTakesLittleMemoryForLargeBodies(t *testing.T) {
	if *bodyCount == 0 {
		t.Skip("go test ./integration -run TestAWorkerTakesLittleMemoryForLargeBodies -bodies 3")
	}
	h := newWideHouse(t)
	size := *bodyMB * 1_000_000
	body := largeBody(size)
	for _, agent := range []served{h.startHTTPAgent("listener", 1, "echo"), child("program", 1, "echo")} {
		w := h.startWorker(agent)
		before := peakMemory(t, w)
		c := &porter{t: t, front: h.fronts[0], id: agent.id}
		for i := range *bodyCount {
			c.back(fmt.Sprint(agent.id, "-", i), body)
		}
		peak := peakMemory(t, w)
		t.Logf("%s: %d bodies of %d MB there and back: %d MB at the peak, %d MB before", agent.id, *bodyCount, *bodyMB, peak>>20, before>>20)
		if limit := before + int64(2*size+48<<20); peak > limit && !underRace {
			t.Errorf("%s: %d bytes of memory at the peak, more than %d", agent.id, peak, limit)
		}
		w.stop()
	}
}

// largeBody is a text of a size, or a list of very many numbers.
func largeBody(size int) string {
	if *bodyOf != "numbers" {
		return quoted('x', size)
	}
	return "[" + strings.Repeat("1,", (size-3)/2) + strings.Repeat("1", 2-size%2) + "]"
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

// back is a payload's way to an agent that has a worker, and back as the result.
func (c *porter) back(name, body string) {
	var task schemas.Task
	check(c.t, schemas.Decode(c.post("/v1/tasks", `{"capability":"echo","prefer_agent":"`+c.id+`","msg_id":"`+name+`","payload":`+body+`}`, ""), &task))
	if got := c.get("/v1/tasks/"+task.TaskID+"/result?wait=60s", "", "", http.StatusOK); string(got) != body {
		c.t.Errorf("the result has %d bytes, want %d", len(got), len(body))
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
