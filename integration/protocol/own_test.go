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

// options are what every implementation is told.
type options struct {
	url          string
	agent        string
	capabilities []string
	slots        int
	timeout      time.Duration
}

func readOptions() options {
	var o options
	flags := flag.NewFlagSet("worker", flag.ExitOnError)
	flags.StringVar(&o.url, "nats", "", "")
	flags.StringVar(&o.agent, "agent-id", "", "")
	flags.Func("capability", "", func(name string) error {
		o.capabilities = append(o.capabilities, name)
		return nil
	})
	flags.IntVar(&o.slots, "max-concurrency", 1, "")
	timeout := flags.Int("request-timeout-ms", 2000, "")
	_ = flags.Parse(os.Args[1:]) // it exits
	o.timeout = time.Duration(*timeout) * time.Millisecond
	return o
}

// runChild is the process of a worker of this house.
func runChild(kind string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	run := ownWorker
	if kind == claimingKind {
		run = claimingWorker
	}
	if err := run(ctx, readOptions()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// ownWorker is the worker of this house with the agent that the scripts know.
func ownWorker(ctx context.Context, o options) error {
	log := zerolog.New(os.Stderr)
	conn, err := broker.Connect(ctx, broker.Config{URL: o.url, Logger: log})
	if err != nil {
		return err
	}
	defer conn.Close()
	return worker.Run(ctx, worker.Config{
		Conn: conn, Logger: log, RequestTimeout: o.timeout,
		Agents: []worker.Agent{{
			Registration: schemas.Registration{AgentID: o.agent, MaxConcurrency: o.slots, Capabilities: offers(o.capabilities, o.slots)},
			Handler:      worker.HandlerFunc(echo),
		}},
	})
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
