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

func ExampleClient_Chunks() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Connect(ctx, client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	task, err := c.Submit(ctx, &schemas.ReachMessage{
		Capability: "summarize", Payload: schemas.Payload(`{"text": "…"}`), ResponseMode: schemas.ModeStream,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for chunk, err := range c.Chunks(ctx, task.TaskID) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(string(chunk.Data))
	}
}

func ExampleClient_Follow() {
	ctx := context.Background()
	c, err := client.Connect(ctx, client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	// A reader that has chunk 17 already goes on with the next one.
	stream, err := c.Follow(ctx, "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10", 17)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()
	for chunk, err := range stream.Chunks(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(chunk.N, string(chunk.Data))
	}
	fmt.Println(string(stream.Task().Result))
}
