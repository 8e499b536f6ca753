//go:build linux

package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

var largestMB = flag.Int("largest-mb", 2, "how many MiB bodies may have in TestTheLargestBodiesTravelByClaims; 128 is what they may have by themselves")

// TestTheLargestBodiesTravelByClaims moves a payload and a result of exactly the limit: claimed by reference, read in ranges and whole,
// brought, told by a callback with a reference, read by that in ranges and whole. A byte more is refused, and both sizes are named. An error
// as long as that is heard, and cut.
func TestTheLargestBodiesTravelByClaims(t *testing.T) {
	t.Parallel()
	limit := *largestMB << 20
	called := newCallee(t)
	close(called.open)
	c, dispatcher := newPorter(t, limit)
	payload, result := quoted('p', limit), quoted('r', limit)

	c.post("/v1/tasks", `{"capability":"echo","callback":"`+called.url+`/hook","payload":`+payload+`}`, "")
	task, sequence := c.claimed()
	if ref := task.PayloadRef; ref == nil || ref.Bytes != int64(limit) || ref.SHA256 != digest(payload) {
		t.Fatalf("the claim brings %+v, %d bytes", ref, len(task.Payload))
	}
	c.readsInRanges("/v1/tasks/"+task.TaskID+"/payload?agent_id=phone&instance_id=1", number(sequence), payload)
	c.post("/v1/tasks/"+task.TaskID+"/result", `{"agent_id":"phone","instance_id":"1","result":`+result+`}`, number(sequence))

	told := called.of(t, task.TaskID)
	if told.State != schemas.StateCompleted || told.Result != nil || told.ResultRef == nil ||
		told.ResultRef.Bytes != int64(limit) || told.ResultRef.SHA256 != digest(result) {
		t.Errorf("the callback tells %s, %d bytes, %+v, %v", told.State, len(told.Result), told.ResultRef, told.Error)
	}
	c.readsInRanges("/v1/tasks/"+task.TaskID+"/result", "", result)

	refused := new(schemas.Error)
	check(t, schemas.Decode(c.refused("/v1/tasks", `{"capability":"echo","payload":`+quoted('p', limit+1)+`}`), refused))
	namesBoth(t, refused, schemas.ReasonPayloadTooLarge, limit)
	c.post("/v1/tasks", `{"capability":"echo","payload":1}`, "")
	task, sequence = c.claimed()
	var answer schemas.Answer
	check(t, schemas.Decode(c.post("/v1/tasks/"+task.TaskID+"/result",
		`{"agent_id":"phone","instance_id":"1","result":`+quoted('r', limit+1)+`}`, number(sequence)), &answer))
	namesBoth(t, answer.Error, schemas.ReasonResultTooLarge, limit)
	var ended schemas.Task
	check(t, schemas.Decode(c.get("/v1/tasks/"+task.TaskID+"?wait=20s", "", "", http.StatusOK), &ended))
	namesBoth(t, ended.Error, schemas.ReasonResultTooLarge, limit)
	t.Logf("bodies of %d MiB: the dispatcher had %d MiB resident at its peak", *largestMB, peakMemory(t, dispatcher)>>20)

	c.post("/v1/tasks", `{"capability":"echo","payload":1}`, "")
	task, sequence = c.claimed()
	c.post("/v1/tasks/"+task.TaskID+"/result", `{"agent_id":"phone","instance_id":"1","error":{"code":"E7","message":`+quoted('m', limit)+`}}`, number(sequence))
	check(t, schemas.Decode(c.get("/v1/tasks/"+task.TaskID+"?wait=20s", "", "", http.StatusOK), &ended))
	if ended.Error == nil || ended.Error.Code != schemas.Internal || len(ended.Error.Message) != schemas.MaxErrorMessage {
		t.Errorf("a long error is told as %+v", ended.Error)
	}
}

// newPorter is the agent "phone" of a house with a limit for bodies, which calls back.
func newPorter(t *testing.T, limit int) (c *porter, dispatcher *process) {
	t.Helper()
	h := emptyHouse(t)
	h.write("secret", callbackSecret+"\n")
	h.write("reach.yaml", strings.Replace(configuration, "2097152", number(limit), 1)+
		"callbacks: {secret_file: secret, allow: [127.0.0.0/8], backoff: 200ms}\n")
	h.broker = h.program("the broker", "broker", "--data", h.data(), "--nats", address(h.url))
	h.startBroker()
	dispatcher = h.addDispatcher(h.url)
	dispatcher.start()
	dispatcher.until("dispatcher up")
	c = &porter{t: t, front: h.fronts[0], id: "phone"}
	c.post("/v1/agents", `{"agent_id":"phone","instance_id":"1","version":"1.0.0","large_bodies":true,"transport":{"type":"claim"},`+
		`"capabilities":["echo"]}`, "")
	return c, dispatcher
}

// quoted is a JSON string of so many bytes.
func quoted(letter byte, bytes int) string {
	return `"` + strings.Repeat(string(letter), bytes-2) + `"`
}

func digest(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// claimed is a task that the agent is given, and its sequence.
func (c *porter) claimed() (*schemas.ReachMessage, uint64) {
	c.t.Helper()
	var all schemas.Claimed
	check(c.t, schemas.Decode(c.post("/v1/agents/"+c.id+"/claims?wait=20s", `{"instance_id":"1","held":[]}`, ""), &all))
	message := new(schemas.ReachMessage)
	if len(all.Assignments) != 1 {
		c.t.Fatalf("%d tasks are given", len(all.Assignments))
	}
	check(c.t, schemas.Decode(all.Assignments[0].Message, message))
	return message, all.Assignments[0].Sequence
}

// readsInRanges reads the beginning of a body, some of its middle, its end, and all of it.
func (c *porter) readsInRanges(path, token, want string) {
	c.t.Helper()
	middle, last := len(want)/2, len(want)-1
	for _, tt := range []struct {
		asked string
		want  string
	}{
		{"bytes=0-9", want[:10]},
		{fmt.Sprintf("bytes=%d-%d", middle, middle+300_000), want[middle : middle+300_001]},
		{fmt.Sprintf("bytes=%d-", last), want[last:]},
		{"bytes=-7", want[len(want)-7:]},
	} {
		if got := c.get(path, token, tt.asked, http.StatusPartialContent); string(got) != tt.want {
			c.t.Errorf("%s of %s: %d bytes, want %d", tt.asked, path, len(got), len(tt.want))
		}
	}
	c.get(path, token, fmt.Sprintf("bytes=%d-", len(want)), http.StatusRequestedRangeNotSatisfiable)
	if got := c.get(path, token, "", http.StatusOK); string(got) != want {
		c.t.Errorf("all of %s: %d bytes, want %d", path, len(got), len(want))
	}
}

// get is what a front answers, with a status.
func (c *porter) get(path, token, ranged string, status int) []byte {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.front+path, http.NoBody)
	check(c.t, err)
	request.Header.Set("Reach-Token", token)
	if ranged != "" {
		request.Header.Set("Range", ranged)
	}
	return c.answered(request, status)
}

func (c *porter) answered(request *http.Request, status int) []byte {
	c.t.Helper()
	response, err := http.DefaultClient.Do(request)
	check(c.t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		c.t.Errorf("%s %s: status %d, want %d: %.300s, %v", request.Method, request.URL.Path, response.StatusCode, status, body, err)
	}
	return body
}

// refused is what is said of a body that is too large.
func (c *porter) refused(path, body string) []byte {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.front+path, strings.NewReader(body))
	check(c.t, err)
	request.Header.Set("Content-Type", "application/json")
	return c.answered(request, http.StatusRequestEntityTooLarge)
}

// namesBoth: an error says that a body has a byte more than it may have.
func namesBoth(t testing.TB, e *schemas.Error, reason string, limit int) {
	t.Helper()
	var most, size int
	if e == nil || e.Reason != reason || !e.Detail("limit_bytes", &most) || !e.Detail("size_bytes", &size) || most != limit || size != limit+1 {
		t.Errorf("%v: %d bytes of at most %d, want %s with %d of %d", e, size, most, reason, limit+1, limit)
	}
}

// of is what was told of a task.
func (c *callee) of(t testing.TB, taskID string) *schemas.Task {
	t.Helper()
	task := new(schemas.Task)
	brokertest.Eventually(t, "the callback of "+taskID, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return schemas.Decode([]byte(c.told[taskID]), task) == nil && task.TaskID == taskID
	})
	return task
}
