package main

import (
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

func TestSubscribedResultsOfOneTenant(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	conn := b.Conn(t)
	ended := make(chan string, 1)
	go func() {
		code, stdout, stderr := commandLine(t, nil, "result", "subscribe", "--count", "2", "--tenant", "blue", "--server", b.URL())
		if code != 0 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		ended <- stdout
	}()
	publish := func(tenant, capability string) {
		task := schemas.Task{
			TaskID: schemas.NewTaskID(), State: schemas.StateCompleted, Phase: schemas.PhaseDone, Capability: capability, Revision: 1,
			Result: schemas.Payload(`1`),
		}
		if err := conn.Publish(broker.SubjectResult(tenant, task.TaskID), schemas.MustEncode(&task)); err != nil {
			t.Error(err)
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		publish("red", "of_red")
		publish("blue", "of_blue")
		select {
		case stdout := <-ended:
			if strings.Count(stdout, "completed  of_blue  -  1\n") != 2 || strings.Contains(stdout, "of_red") {
				t.Errorf("got %s", stdout)
			}
			return
		case <-tick.C:
		}
	}
}
