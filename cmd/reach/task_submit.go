package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/schemas"
)

// submission is what the flags of a submit say.
type submission struct {
	data       string
	intent     string
	wait       wait
	stream     bool
	priority   int
	expiresIn  time.Duration
	runTimeout time.Duration
	message    schemas.ReachMessage
}

// bareIntent stands for an --intent that is there without a value.
const bareIntent = "the argument"

func (a *app) taskSubmitCommand(t *target) *cobra.Command {
	s := new(submission)
	command := &cobra.Command{
		Use:   "submit CAPABILITY",
		Short: "Submit a task",
		Long: `Submit a task. Without --wait, its id is printed as soon as the task is durable. With --wait, the result is
printed when the task ends; --wait=30s stops waiting after 30 seconds, but does not end the task. With --stream, the result is printed
piece by piece, as reach task watch does.`,
		Example: `  reach task submit summarize -d '{"text":"Ships sail. Ships sink."}'
  reach task submit summarize -d @note.json --wait 30s
  reach task submit summarize -d @note.json --stream
  reach task submit transcribe --payload @recording.json --wait
  cat note.json | reach task submit summarize -d - --wait -o json
  reach task submit --intent count-words -d '{"text":"a b"}' --wait`,
		Args: s.understands,
		RunE: func(command *cobra.Command, args []string) error {
			if s.stream && s.wait.text != "" {
				return exit.UsageError("--stream already waits for the end: leave --wait out")
			}
			if err := s.prepare(command.Flags(), args, a.stdin, time.Now()); err != nil {
				return err
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error { return a.submit(command.Context(), c, s) })
		},
	}
	s.flags(command.Flags())
	s.wait.flag(command.Flags())
	command.Flags().BoolVar(&s.stream, "stream", false, "print the result piece by piece while the agent produces it")
	return command
}

func (s *submission) flags(flags *pflag.FlagSet) {
	m := &s.message
	flags.StringVarP(&s.data, "data", "d", "{}", "payload: `JSON`, @FILE, or - for standard input; up to 128 MiB")
	flags.StringVar(&s.data, "payload", "{}", "another name of --data")
	flags.StringVar(&s.intent, "intent", "", "say what is wanted in `WORDS`, instead of a capability's id")
	flags.Lookup("intent").NoOptDefVal = bareIntent
	flags.StringVar(&m.MsgID, "msg-id", "", "idempotency `KEY`: the same key gives the same task")
	flags.StringVar(&m.PreferAgent, "prefer-agent", "", "`AGENT` to try first")
	flags.StringVar(&m.Callback, "callback", "", "`URL` that is called when the task ends")
	flags.IntVar(&s.priority, "priority", schemas.DefaultPriority, "`NUMBER` from 0 to 9, higher first")
	flags.StringArrayVar(&m.Tags, "tag", nil, "`TAG` of the task; may be repeated")
	flags.DurationVar(&s.expiresIn, "expires-in", 0, "`TIME` after which the task ends even if it is unfinished, such as 1h (default 24h)")
	flags.DurationVar(&s.runTimeout, "run-timeout", 0, "`TIME` that one execution may take, such as 30s (default: by --qos and the agent)")
	flags.StringVar((*string)(&m.QualityOfService), "qos", "", "quality of `SERVICE`: realtime, standard or complete (default standard)")
	flags.BoolVar(&m.WaitForAgent, "wait-for-agent", false, "keep the task until an agent for it is online")
	flags.BoolVar(&m.FailFast, "fail-fast", false, "refuse the task if every agent is busy, instead of queueing it")
}

// prepare makes the message, and refuses what no dispatcher would take.
func (s *submission) prepare(flags *pflag.FlagSet, args []string, stdin io.Reader, now time.Time) error {
	for _, name := range []string{"msg-id", "prefer-agent", "intent", "callback"} {
		if flags.Changed(name) && flags.Lookup(name).Value.String() == "" {
			return exit.UsageError("--%s takes a value", name)
		}
	}
	if err := s.target(args); err != nil {
		return err
	}
	payload, err := readPayload(s.data, stdin)
	if err != nil {
		return err
	}
	m := &s.message
	m.Payload = payload
	if flags.Changed("priority") {
		m.Priority = &s.priority
	}
	if err := s.times(flags, now); err != nil {
		return err
	}
	if problem := m.Check(); problem != nil {
		return problem
	}
	return nil
}

// understands refuses a payload that stands where none is looked for: the commonest slip there is.
func (s *submission) understands(command *cobra.Command, args []string) error {
	for _, arg := range args {
		if strings.HasPrefix(arg, "{") || strings.HasPrefix(arg, "[") || strings.HasPrefix(arg, "@") {
			return fmt.Errorf("give the payload with -d: %s %s -d '…'", command.CommandPath(), args[0])
		}
	}
	return nil
}

// target finds the capability or intent among the arguments.
func (s *submission) target(args []string) error {
	args = s.wait.takeTime(args)
	if s.intent != "" && s.intent != bareIntent {
		args = append(args, s.intent)
	}
	if len(args) != 1 {
		return exit.UsageError("give one CAPABILITY, or an --intent instead, and the payload with -d (see --help)")
	}
	if s.intent != "" {
		s.message.Intent = args[0]
		return nil
	}
	s.message.Capability = args[0]
	return schemas.CheckCapability(args[0])
}

// times turns spans into what the message says.
func (s *submission) times(flags *pflag.FlagSet, now time.Time) error {
	m := &s.message
	for name, d := range map[string]time.Duration{"expires-in": s.expiresIn, "run-timeout": s.runTimeout} {
		if flags.Changed(name) && d < time.Millisecond {
			return exit.UsageError("--%s takes a time above 0, such as 30s", name)
		}
	}
	if s.expiresIn > 0 {
		m.ExpiresAt = schemas.At(now.Add(s.expiresIn))
	}
	m.RunTimeoutMS = schemas.Milliseconds(s.runTimeout)
	limit, err := s.wait.limit()
	m.TimeoutMS = schemas.Milliseconds(limit)
	return err
}

func (a *app) submit(ctx context.Context, c *client.Client, s *submission) error {
	if s.stream {
		s.message.ResponseMode = schemas.ModeStream
	}
	task, err := c.Submit(ctx, &s.message)
	switch {
	case err != nil:
		return err
	case s.stream:
		return a.watch(ctx, c, task.TaskID, 0)
	}
	return a.accepted(ctx, c, task, s.wait)
}
