package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/cmd/internal/view"
	"github.com/agentreach/agent-reach/dispatcher/client"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *app) scheduleCommand() *cobra.Command {
	t := new(target)
	command := noun("schedule", "Submit tasks at recurring times",
		a.scheduleAddCommand(t), a.scheduleListCommand(t),
		a.onScheduleCommand(t, "show", "Show a schedule: its next time, its last task, its last error", (*client.Client).Schedule),
		a.onScheduleCommand(t, "pause", "Stop a schedule until it is resumed", (*client.Client).PauseSchedule),
		a.onScheduleCommand(t, "resume", "Continue a paused schedule with its next due time", (*client.Client).ResumeSchedule),
		a.scheduleDeleteCommand(t))
	command.Long = `Submit tasks at recurring times: those of a cron expression in a time zone. Each due time has exactly one task, however
many dispatchers there are and whichever of them dies.`
	targetFlags(command, t)
	return command
}

// recurrence is what the flags of an add say beside the task.
type recurrence struct {
	submission
	schedule schemas.Schedule
	replace  bool
}

func (a *app) scheduleAddCommand(t *target) *cobra.Command {
	r := new(recurrence)
	command := &cobra.Command{
		Use:   "add NAME CAPABILITY --cron EXPRESSION",
		Short: "Add a schedule",
		Long: `Add a schedule. --cron takes five fields (minute, hour, day of the month, month, day of the week), @hourly, @daily, @weekly,
@monthly, @yearly, or @every and a span such as 90s. The hours are those of --time-zone. When its clocks change, a time that is skipped comes later by the length of the
change, and a time that occurs twice counts once.

--missed says what happens to times at which no dispatcher was running: skip them, run the last one once, or run all (at most 100).`,
		Example: `  reach schedule add nightly summarize --cron '30 2 * * mon-fri' --time-zone Europe/Berlin -d @notes.json
  reach schedule add pulse echo --cron '@every 90s' --missed once
  reach schedule add nightly summarize --cron '@daily' --replace`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.UsageError("%s takes a NAME and a CAPABILITY (see --help)", command.CommandPath())
			}
			return schemas.CheckSchedule(args[0])
		},
		RunE: func(command *cobra.Command, args []string) error {
			r.schedule.Name = args[0]
			if err := r.prepare(command, args[1:], a.stdin); err != nil {
				return err
			}
			return a.withSchedule(command.Context(), *t, func(ctx context.Context, c *client.Client) (*schemas.Schedule, error) {
				return c.AddSchedule(ctx, &schemas.AddSchedule{Schedule: r.schedule, Replace: r.replace})
			})
		},
	}
	flags := command.Flags()
	r.flags(flags)
	_ = flags.MarkHidden("msg-id") // each occurrence is a task of its own
	flags.Lookup("data").Usage = "payload: `JSON`, @FILE, or - for standard input; up to 64 KiB"
	flags.Lookup("expires-in").Usage = "`TIME` after its due time at which an occurrence ends by itself (default 24h)"
	flags.StringVar(&r.schedule.Cron, "cron", "", "cron `EXPRESSION` of the due times")
	flags.StringVar(&r.schedule.TimeZone, "time-zone", "", "IANA time `ZONE` of the expression, such as Europe/Berlin (default UTC)")
	flags.StringVar((*string)(&r.schedule.Missed), "missed", "", "what happens to missed times: skip, once or all (default skip)")
	flags.BoolVar(&r.replace, "replace", false, "replace an existing schedule of that name")
	return command
}

// prepare makes the schedule of the flags, and refuses what no dispatcher would take.
func (r *recurrence) prepare(command *cobra.Command, args []string, stdin io.Reader) error {
	if err := r.submission.prepare(command.Flags(), args, stdin, time.Now()); err != nil {
		return err
	}
	r.schedule.Message = r.message
	r.schedule.Message.ExpiresAt = schemas.Time{}
	r.schedule.ExpiresAfterMS = schemas.Milliseconds(r.expiresIn)
	if r.schedule.Cron == "" {
		return exit.UsageError("it takes --cron, such as --cron '30 2 * * mon-fri' (see --help)")
	}
	if problem := r.schedule.Check(); problem != nil {
		return problem
	}
	return nil
}

func (a *app) scheduleListCommand(t *target) *cobra.Command {
	query := schemas.ScheduleQuery{}
	command := &cobra.Command{
		Use:     "list",
		Short:   "List schedules, by name",
		Example: "  reach schedule list\n  reach schedule list -o json",
		Args:    noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := front.CheckScheduleQuery(&query); err != nil {
				return err
			}
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				page, err := c.ListSchedules(command.Context(), query)
				if err != nil {
					return err
				}
				a.show(page, func(w io.Writer) { view.Schedules(w, page.Items) })
				if page.NextPageToken != "" && !a.json() {
					a.note("there are more: --page-token %s", page.NextPageToken)
				}
				return nil
			})
		},
	}
	flags := command.Flags()
	flags.IntVar(&query.PageSize, "page-size", 0, "schedules to list, at most 100 (default 50)")
	flags.StringVar(&query.PageToken, "page-token", "", "continue after a page: the token that it printed")
	return command
}

// onScheduleCommand is a command that takes the name of a schedule and shows the schedule.
func (a *app) onScheduleCommand(
	t *target, verb, short string, do func(*client.Client, context.Context, string) (*schemas.Schedule, error),
) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " NAME",
		Short:   short,
		Example: "  reach schedule " + verb + " nightly",
		Args:    oneSchedule,
		RunE: func(command *cobra.Command, args []string) error {
			return a.withSchedule(command.Context(), *t, func(ctx context.Context, c *client.Client) (*schemas.Schedule, error) {
				return do(c, ctx, args[0])
			})
		},
	}
}

func (a *app) scheduleDeleteCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a schedule; tasks that it has submitted go on",
		Example: "  reach schedule delete nightly",
		Args:    oneSchedule,
		RunE: func(command *cobra.Command, args []string) error {
			return a.withClient(command.Context(), *t, func(c *client.Client) error {
				schedule, err := c.DeleteSchedule(command.Context(), args[0])
				if err != nil {
					return err
				}
				a.show(schedule, func(w io.Writer) { _, _ = fmt.Fprintf(w, "%s  deleted\n", schedule.Name) })
				return nil
			})
		},
	}
}

func oneSchedule(command *cobra.Command, args []string) error {
	return oneName(command, args, "NAME", schemas.CheckSchedule)
}

// withSchedule asks for one schedule and shows it.
func (a *app) withSchedule(
	ctx context.Context, t target, ask func(context.Context, *client.Client) (*schemas.Schedule, error),
) error {
	return a.withClient(ctx, t, func(c *client.Client) error {
		schedule, err := ask(ctx, c)
		if err != nil {
			return err
		}
		a.show(schedule, func(w io.Writer) { view.Schedule(w, schedule) })
		return nil
	})
}
