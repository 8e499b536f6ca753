package client_test

import (
	"context"
	"fmt"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Connect(ctx, client.Config{URL: "nats://127.0.0.1:4222"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	task, err := c.Do(ctx, &schemas.ReachMessage{
		Capability: "summarize",
		Payload:    schemas.Payload(`{"text": "Ships sail. Ships sink."}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(task.Result))
}

func ExampleClient_Submit() {
	ctx := context.Background()
	c, err := client.Connect(ctx, client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	// With a msg_id the same message can be sent again, by anyone and at any time within a day: it stays one task.
	task, err := c.Submit(ctx, &schemas.ReachMessage{
		MsgID: "notes-7", Capability: "summarize", Payload: schemas.Payload(`{"text": "…"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for !task.State.Terminal() {
		fmt.Println("it is", task.State)
		if task, err = c.Wait(ctx, task.TaskID, 30*time.Second); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(string(task.Result), task.Error)
}

func ExampleClient_SubscribeResults() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Connect(ctx, client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	subscription, err := c.SubscribeResults(func(task *schemas.Task) { fmt.Println(task.TaskID, task.State) })
	if err != nil {
		fmt.Println(err)
		return
	}
	defer subscription.Close()
	<-ctx.Done()
}
