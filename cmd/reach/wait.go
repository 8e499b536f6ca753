package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// wait is what --wait says: empty where it is absent.
type wait struct{ text string }

// bareWait stands for a --wait that is there without a time.
const bareWait = "until it ends"

func (w *wait) flag(flags *pflag.FlagSet) {
	flags.StringVar(&w.text, "wait", "", "wait for the task's end, for at most a `TIME` such as 30s if one is given")
	flags.Lookup("wait").NoOptDefVal = bareWait
}

// takeTime takes the time of a --wait out of the arguments where it stood behind it with a blank between.
func (w *wait) takeTime(args []string) []string {
	i := slices.IndexFunc(args, looksLikeTime)
	if i < 0 || w.text != bareWait {
		return args
	}
	w.text = args[i]
	return slices.Delete(slices.Clone(args), i, i+1)
}

func looksLikeTime(text string) bool {
	return text != "" && strings.ContainsRune("0123456789.", rune(text[0])) && schemas.CheckTaskID(text) != nil
}

// limit is how long to wait; 0 is as long as the task has.
func (w *wait) limit() (time.Duration, error) {
	if w.text == "" || w.text == bareWait {
		return 0, nil
	}
	limit, err := time.ParseDuration(w.text)
	if err != nil || limit < time.Millisecond {
		return 0, exit.UsageError("--wait takes a time such as 30s or 2m")
	}
	return limit, nil
}

// accepted tells of a task that was taken, or waits for its end if that is asked for.
func (a *app) accepted(ctx context.Context, c *client.Client, task *schemas.Task, w wait) error {
	if w.text == "" {
		a.show(task, func(out io.Writer) { view.Accepted(out, task) })
		return nil
	}
	limit, err := w.limit()
	if err != nil {
		return err
	}
	return a.await(ctx, c, task, limit)
}
