//go:build unix

package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
	"github.com/agentreach/agent-reach/schemas"
)

// claimer is an agent that has nothing but HTTP, as docs/claims.md tells its author to write it: what it says it says again until it is
// answered, each time to another front.
type claimer struct {
	*agent
	fronts   []string
	instance string
	slots    int

	at   atomic.Int64                  // the front that is asked next
	held fronttest.Held[chan struct{}] // closed when it is to stop
}

// answerWithin is how long an agent waits for an answer beyond what it has asked to wait.
const answerWithin = 2 * time.Second

func newClaimer(a *agent, fronts []string) *claimer {
	slots, _ := strconv.Atoi(os.Getenv(slotsVariable))
	return &claimer{agent: a, fronts: fronts, instance: schemas.NewTaskID(), slots: slots}
}

// work claims tasks and runs them, until the process ends.
func (c *claimer) work() {
	c.register()
	fmt.Println("listening")
	for {
		claim := schemas.Claim{InstanceID: c.instance, ClaimID: schemas.NewTaskID(), Held: c.held.Sequences()}
		var claimed schemas.Claimed
		if !c.say("/v1/agents/"+c.name+"/claims?wait=1s", 0, claim, &claimed) {
			c.register()
			continue
		}
		for _, task := range claimed.Assignments {
			c.begin(task)
		}
		for _, word := range claimed.Stop {
			c.stop(word.Sequence)
		}
	}
}

func (c *claimer) register() {
	r := schemas.Registration{
		AgentID: c.name, InstanceID: c.instance, Version: "1.0.0", Transport: schemas.Transport{Type: "claim"}, MaxConcurrency: c.slots,
	}
	for _, id := range abilities {
		r.Capabilities = append(r.Capabilities, schemas.Offer{ID: id, MaxConcurrency: c.slots})
	}
	for !c.say("/v1/agents", 0, r, new(schemas.Registered)) {
		time.Sleep(repeatWait) // another process of it seems to live
	}
}

// begin runs a task that it has not got yet.
func (c *claimer) begin(task schemas.ClaimedTask) {
	m := new(schemas.ReachMessage)
	if schemas.Decode(task.Message, m) != nil || !c.held.Add(task.Sequence, make(chan struct{})) {
		return
	}
	go c.run(m, task.Sequence)
}

func (c *claimer) run(m *schemas.ReachMessage, sequence uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if stopped, found := c.held.Of(sequence); found {
		go func() {
			select {
			case <-stopped:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	result, code := c.execute(ctx, m.TaskID, m.Capability, m.Payload)
	r := schemas.Result{AgentID: c.name, InstanceID: c.instance, State: schemas.StateCompleted, Result: result}
	if code != "" {
		r.State, r.Result, r.Error = schemas.StateFailed, nil, schemas.NewError(code, "", "as it was told to")
	}
	c.say("/v1/tasks/"+m.TaskID+"/result", sequence, r, new(schemas.Answer))
	c.stop(sequence)
}

// stop ends a task, and forgets it.
func (c *claimer) stop(sequence uint64) {
	if stopped, found := c.held.Drop(sequence); found {
		close(stopped)
	}
}

// say posts something until it is answered, and reports whether it was taken.
func (c *claimer) say(path string, token uint64, what, answer any) bool {
	body := schemas.MustEncode(what)
	for {
		status, said, err := c.post(path, token, body)
		refused := new(schemas.Error)
		switch {
		case err != nil:
		case status < http.StatusMultipleChoices:
			return schemas.Decode(said, answer) == nil
		case schemas.Decode(said, refused) == nil && !refused.Retryable:
			return false
		}
		time.Sleep(repeatWait)
	}
}

func (c *claimer) post(path string, token uint64, body []byte) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second+answerWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.front()+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Reach-Token", number(token))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// front is another one each time.
func (c *claimer) front() string {
	return c.fronts[int(c.at.Add(1))%len(c.fronts)]
}
