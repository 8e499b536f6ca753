package broker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/embedded"
	"github.com/agentreach/agent-reach/schemas"
)

// Two dispatchers want to assign the same task: the ledger lets one of them, and tells the other who was first.
func Example() {
	ctx := context.Background()
	conn, stop, err := connectEmbedded(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	ledger := conn.Ledger()
	task, err := ledger.Write(ctx, broker.Entry{
		TaskID: schemas.NewTaskID(), Phase: schemas.PhaseQueued, Capability: "summarize", Agent: schemas.NoAgent,
		Body: []byte(`{}`), TTL: 24 * time.Hour,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, agent := range []string{"laptop-1", "server-2"} {
		assigned := task
		assigned.Phase, assigned.Agent, assigned.Previous, assigned.Write = schemas.PhaseAssigned, agent, task.Sequence, ""
		_, err := ledger.Write(ctx, assigned)
		var conflict *broker.Conflict
		if errors.As(err, &conflict) {
			fmt.Println(agent, "is late:", conflict.Last.Agent, "has it")
		} else {
			fmt.Println(agent, "has it:", err)
		}
	}
	// Output:
	// laptop-1 has it: <nil>
	// server-2 is late: laptop-1 has it
}

func connectEmbedded(ctx context.Context) (conn *broker.Conn, stop func(), err error) {
	dir, err := os.MkdirTemp("", "reach-example")
	if err != nil {
		return nil, nil, err
	}
	server, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		return nil, nil, err
	}
	conn, err = broker.Connect(ctx, broker.Config{Embedded: server})
	if err != nil {
		return nil, nil, err
	}
	stop = func() {
		conn.Close()
		server.Close()
		_ = os.RemoveAll(dir)
	}
	return conn, stop, conn.Setup(ctx)
}

func ExampleParseSubject() {
	e, err := broker.ParseSubject("reach.feed.assigned.summarize.laptop-1.01a226bf-4900-7b1e-9d54-0f6a3f1f8a10")
	fmt.Println(e.TaskID, e.Phase, e.Capability, e.Agent, err)
	fmt.Println(e.Subject())
	// Output:
	// 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10 assigned summarize laptop-1 <nil>
	// reach.task.01a226bf-4900-7b1e-9d54-0f6a3f1f8a10.assigned.summarize.laptop-1
}

func ExampleSubjectPull() {
	fmt.Println(broker.SubjectPull("laptop-1"))
	fmt.Println(broker.SubjectPull(broker.Any))
	fmt.Printf("%q\n", broker.SubjectPull("not.an.agent"))
	// Output:
	// reach.pull.laptop-1
	// reach.pull.*
	// ""
}
