package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// DeadLetters is a list of tasks that failed on their way.
func DeadLetters(w io.Writer, tasks []schemas.Task) {
	var items [][]string
	for i := range tasks {
		t := &tasks[i]
		items = append(items, []string{
			t.TaskID, t.Capability, or(t.AgentID), fmt.Sprint(t.Attempt), or(t.FinishedAt.String()), or(errorName(t.Error)), or(t.RetriedAs),
		})
	}
	Rows(w, []string{"TASK", "CAPABILITY", "AGENT", "ATTEMPT", "FAILED", "ERROR", "REPLAYED AS"}, items)
}

func errorName(e *schemas.Error) string {
	if e == nil {
		return ""
	}
	return Text(strings.TrimSpace(string(e.Code) + " " + e.Reason))
}

// DeadLetter is all that helps a person to decide what becomes of a dead letter: the task, and how each attempt at it went.
func DeadLetter(w io.Writer, t *schemas.Trace) {
	Task(w, &t.Task)
	if attempts := attemptsOf(t); len(attempts) > 0 {
		_, _ = fmt.Fprintln(w)
		Rows(w, []string{"TRY", "AGENT", "ERROR"}, attempts)
	}
}

// attemptsOf are the agents that had the task, and why it did not end there; the last one's reason is the task's own.
func attemptsOf(t *schemas.Trace) (items [][]string) {
	add := func(agent, failed string) {
		items = append(items, []string{strconv.Itoa(len(items) + 1), agent, failed})
	}
	for _, hop := range t.Hops {
		if d, found := decisionOf(hop); found && d.From != "" && d.Rule != "hedge" {
			add(Text(d.From), or(left(d)))
		}
	}
	if t.Task.AgentID != "" {
		add(t.Task.AgentID, or(errorName(t.Task.Error)))
	}
	return items
}

// left is how an agent lost a task that went on without it.
func left(d decision) string {
	switch d.Rule {
	case "rescue":
		return "it was lost"
	case "release":
		return "it handed the task back"
	}
	return Text(d.failed())
}
