package worker_test

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// An agent written in Go is a function. Run registers it and serves it until the program is told to stop.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	conn, err := broker.Connect(ctx, broker.Config{URL: "nats://127.0.0.1:4222", Name: "counter"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	err = worker.Run(ctx, worker.Config{
		Conn: conn,
		Agents: []worker.Agent{{
			Registration: schemas.Registration{
				AgentID:      "counter-1",
				Version:      "1.0.0",
				Capabilities: []schemas.Offer{{ID: "text_stats", MaxConcurrency: 4}},
			},
			Handler: worker.HandlerFunc(count),
		}},
	})
	if err != nil {
		fmt.Println(err)
	}
}

// count is the agent. Its errors say what the caller did wrong; a longer task would look at ctx, and emit chunks and progress.
func count(_ context.Context, task *worker.Task, _ worker.Emit) (schemas.Payload, error) {
	var input struct {
		Text string `json:"text"`
	}
	if err := schemas.Decode(task.Message.Payload, &input); err != nil {
		return nil, schemas.NewError(schemas.InvalidArgument, "", "the payload is an object with a text")
	}
	return schemas.Encode(map[string]int{
		"characters": len([]rune(input.Text)),
		"words":      len(strings.Fields(input.Text)),
		"lines":      1 + strings.Count(input.Text, "\n"),
	})
}

// A handler can be tried without a broker.
func ExampleHandlerFunc() {
	task := &worker.Task{Message: &schemas.ReachMessage{Payload: schemas.Payload(`{"text":"Ships sail.\nShips sink."}`)}}
	result, err := worker.HandlerFunc(count).Handle(context.Background(), task, nil)
	fmt.Println(string(result), err)
	// Output: {"characters":23,"lines":2,"words":4} <nil>
}
