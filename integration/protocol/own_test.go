package protocol

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// ownWorker is the worker of this house with the agent that the scripts know.
func ownWorker() int {
	flags := flag.NewFlagSet("worker", flag.ExitOnError)
	url := flags.String("nats", "", "")
	agent := flags.String("agent-id", "", "")
	var capabilities []string
	flags.Func("capability", "", func(name string) error {
		capabilities = append(capabilities, name)
		return nil
	})
	slots := flags.Int("max-concurrency", 1, "")
	timeout := flags.Int("request-timeout-ms", 2000, "")
	_ = flags.Parse(os.Args[1:]) // it exits
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := zerolog.New(os.Stderr)
	conn, err := broker.Connect(ctx, broker.Config{URL: *url, Logger: log})
	if err == nil {
		defer conn.Close()
		err = worker.Run(ctx, worker.Config{
			Conn: conn, Logger: log, RequestTimeout: time.Duration(*timeout) * time.Millisecond,
			Agents: []worker.Agent{{
				Registration: schemas.Registration{AgentID: *agent, MaxConcurrency: *slots, Capabilities: offers(capabilities, *slots)},
				Handler:      worker.HandlerFunc(echo),
			}},
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func offers(capabilities []string, slots int) []schemas.Offer {
	var all []schemas.Offer
	for _, id := range capabilities {
		all = append(all, schemas.Offer{ID: id, MaxConcurrency: slots})
	}
	return all
}

// echo is the agent: it gives back what it gets, after wait_ms, or fails with fail.
func echo(ctx context.Context, task *worker.Task, _ worker.Emit) (schemas.Payload, error) {
	fmt.Println("run", task.ID())
	var payload struct {
		WaitMS int64          `json:"wait_ms"`
		Fail   *schemas.Error `json:"fail"`
	}
	_ = schemas.Decode(task.Message.Payload, &payload) // it may be anything
	select {
	case <-time.After(schemas.Duration(payload.WaitMS)):
	case <-ctx.Done():
		fmt.Println("stopped", task.ID())
		return nil, &worker.Failure{Err: schemas.NewError(schemas.Cancelled, "", "stopped"), Confirmed: true}
	}
	if payload.Fail != nil {
		return nil, payload.Fail
	}
	return task.Message.Payload, nil
}
