package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Accepted is the line that answers a submit: the task, its state, and who has it or where it waits.
func Accepted(w io.Writer, t *schemas.Task) {
	_, _ = fmt.Fprintf(w, "%s  %s  %s\n", t.TaskID, t.State, holder(t))
}

func holder(t *schemas.Task) string {
	switch {
	case t.AgentID != "":
		return t.AgentID
	case t.Queue != nil:
		return queue(t.Queue)
	}
	return string(t.Phase)
}

func queue(q *schemas.Queue) string {
	text := fmt.Sprintf("queued, position %d", q.Position)
	if q.EstimatedStartMS > 0 {
		text += ", starts in about " + span(schemas.Duration(q.EstimatedStartMS))
	}
	return text
}

// Task is all that a reader wants to know of one task.
func Task(w io.Writer, t *schemas.Task) { task(w, t, result(t)) }

// briefBytes is how much of a result TaskInBrief shows.
const briefBytes = 4 << 10

// TaskInBrief is Task with the beginning alone of a result that is large, and how to have all of it.
func TaskInBrief(w io.Writer, t *schemas.Task) {
	shown := result(t)
	if len(shown) > briefBytes {
		shown = fmt.Sprintf("%s… %d bytes; reach result get %s --to FILE", strings.ToValidUTF8(shown[:briefBytes], ""), len(t.Result), t.TaskID)
	}
	task(w, t, shown)
}

func task(w io.Writer, t *schemas.Task, result string) {
	fields(w,
		field{"TASK", t.TaskID},
		field{"STATE", fmt.Sprintf("%s (%s)", t.State, t.Phase) + slow(t)},
		field{"CAPABILITY", t.Capability},
		field{"AGENT", agent(t)},
		field{"SUBMITTED", t.SubmittedAt.String() + took(t)},
		field{"NOT BEFORE", t.NotBefore.String()},
		field{"QUEUE", waiting(t)},
		field{"PROGRESS", Progress(t.Progress)},
		field{"EXPIRES", expires(t)},
		field{"CANCEL", canceled(t)},
		field{"RESULT", result},
		field{"ERROR", failure(t.Error)},
		field{"CAUSE", failure(cause(t.Error))},
		field{"AGENT SAID", AgentSaid(t.Error)},
		field{"LATE RESULT", raw([]byte(t.LateResult))},
		field{"DEAD LETTER", dead(t)},
		field{"CALLBACK", called(t)},
		field{"SCHEDULE", t.Schedule},
		field{"RETRY OF", t.RetryOf},
		field{"RETRIED AS", t.RetriedAs},
	)
}

// slow says that a task takes longer than was expected.
func slow(t *schemas.Task) string {
	if !t.Slow || t.State.Terminal() {
		return ""
	}
	return ", slower than expected"
}

func dead(t *schemas.Task) string {
	if !t.DeadLetter {
		return ""
	}
	return "kept until " + t.KeptUntil.String()
}

func agent(t *schemas.Task) string {
	if t.AgentID == "" {
		return ""
	}
	return fmt.Sprintf("%s, attempt %d", t.AgentID, t.Attempt)
}

func took(t *schemas.Task) string {
	if t.FinishedAt.IsZero() {
		return ""
	}
	return ", took " + span(t.FinishedAt.Sub(t.SubmittedAt.Time))
}

func waiting(t *schemas.Task) string {
	if t.Queue == nil {
		return ""
	}
	return strings.TrimPrefix(queue(t.Queue), "queued, ")
}

// Progress is the agent's own word on how far it is.
func Progress(p *schemas.Progress) string {
	if p == nil {
		return ""
	}
	var parts []string
	if p.Fraction != nil {
		parts = append(parts, fmt.Sprintf("%.0f %%", *p.Fraction*100))
	}
	if p.Message != "" {
		parts = append(parts, Text(p.Message))
	}
	return strings.Join(parts, ", ")
}

func expires(t *schemas.Task) string {
	if t.State.Terminal() {
		return ""
	}
	return t.ExpiresAt.String()
}

func canceled(t *schemas.Task) string {
	c := t.Cancel
	switch {
	case c == nil:
		return ""
	case !c.Won:
		return "the task had already ended"
	case t.AgentID == "":
		return "no agent had it"
	case c.Confirmed:
		return "the agent confirmed that it stopped"
	}
	return "the agent did not confirm that it stopped"
}

func result(t *schemas.Task) string {
	if t.Result == nil {
		return ""
	}
	text := Text(Line(t.Result))
	if t.Partial {
		text += "  (partial)"
	}
	return text
}

// Tasks is a list of tasks.
func Tasks(w io.Writer, tasks []schemas.Task) {
	var items [][]string
	for i := range tasks {
		t := &tasks[i]
		items = append(items, []string{
			t.TaskID, string(t.State), t.Capability, or(t.AgentID), fmt.Sprint(t.Attempt), t.SubmittedAt.String(), or(duration(t)),
		})
	}
	Rows(w, []string{"TASK", "STATE", "CAPABILITY", "AGENT", "ATTEMPT", "SUBMITTED", "TOOK"}, items)
}

func duration(t *schemas.Task) string { return strings.TrimPrefix(took(t), ", took ") }

// Ended is the line for one ended task in a stream of them.
func Ended(w io.Writer, t *schemas.Task) {
	outcome := result(t)
	if t.Error != nil {
		outcome = failure(t.Error)
	}
	_, _ = fmt.Fprintf(w, "%s  %s  %s  %s  %s\n", t.TaskID, t.State, t.Capability, or(t.AgentID), outcome)
}

// Waiting is the line that is drawn again and again while someone waits for a task.
func Waiting(t *schemas.Task, since time.Duration) string {
	parts := []string{t.TaskID, fmt.Sprintf("%s %s", t.State, strings.TrimSpace(by(t))), since.Truncate(time.Second).String()}
	if p := Progress(t.Progress); p != "" {
		parts = append(parts, p)
	}
	return strings.Join(parts, "  ")
}

func by(t *schemas.Task) string {
	if t.AgentID != "" {
		return "on " + t.AgentID
	}
	if t.Queue != nil {
		return "(" + queue(t.Queue) + ")"
	}
	return ""
}
