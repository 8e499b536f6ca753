package view

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentreach/agent-reach/schemas"
)

const (
	barColumns    = 40
	detailColumns = 72
)

// Trace draws a task's way: each hop with its offset from the first in milliseconds, and a bar from it to the next hop.
func Trace(w io.Writer, t *schemas.Trace) {
	fields(w,
		field{"TRACE", t.TraceID},
		field{"TASK", t.Task.TaskID},
		field{"STATE", fmt.Sprintf("%s (%s)", t.Task.State, t.Task.Phase)},
		field{"CAPABILITY", t.Task.Capability},
		field{"AGENT", agent(&t.Task)},
		field{"SUBMITTED", t.Task.SubmittedAt.String() + took(&t.Task)},
		field{"ERROR", failure(t.Task.Error)},
		field{"CAUSE", failure(cause(t.Task.Error))},
		field{"AGENT SAID", AgentSaid(t.Task.Error)},
		field{"CALLBACK", called(&t.Task)},
	)
	if len(t.Hops) == 0 {
		return
	}
	_, _ = fmt.Fprintln(w)
	names, actors := columns(t.Hops)
	since := offsets(t.Hops)
	for i, hop := range t.Hops {
		line := fmt.Sprintf("%8d ms  %-*s  %-*s  %s  %s", since[i].Milliseconds(), names, Text(hop.Hop), actors, Text(hop.By),
			bar(since, i), detail(hop))
		_, _ = fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

func columns(hops []schemas.Hop) (names, actors int) {
	for _, hop := range hops {
		names = max(names, utf8.RuneCountInString(Text(hop.Hop)))
		actors = max(actors, utf8.RuneCountInString(Text(hop.By)))
	}
	return names, actors
}

// offsets are counted from the first hop. Hops come from several clocks; one that seems to lie before it counts as its equal.
func offsets(hops []schemas.Hop) []time.Duration {
	since := make([]time.Duration, len(hops))
	for i, hop := range hops {
		since[i] = max(0, hop.At.Sub(hops[0].At.Time))
	}
	return since
}

// bar spans from a hop to the next, on a scale that holds all of them; an instant is a thin line.
func bar(since []time.Duration, i int) string {
	whole := slices.Max(since)
	from := column(since[i], whole)
	to := from
	if i+1 < len(since) {
		to = column(since[i+1], whole)
	}
	mark := strings.Repeat("█", max(0, to-from))
	if mark == "" {
		mark = "▏"
	}
	text := strings.Repeat(" ", from) + mark
	return text + strings.Repeat(" ", max(0, barColumns+1-utf8.RuneCountInString(text)))
}

func column(offset, whole time.Duration) int {
	if whole == 0 {
		return 0
	}
	return int(math.Round(float64(offset) / float64(whole) * barColumns))
}

// detail is a decision in brief, or the members of a hop's detail as name=value, cut to what fits a line.
func detail(hop schemas.Hop) string {
	if d, found := decisionOf(hop); found {
		return cut(d.brief())
	}
	var members map[string]schemas.Payload
	if hop.Detail == nil || schemas.Decode(hop.Detail, &members) != nil {
		return ""
	}
	var parts []string
	for name, value := range members {
		parts = append(parts, name+"="+strings.Trim(Line(value), `"`))
	}
	slices.Sort(parts)
	return cut(Text(strings.Join(parts, " ")))
}

func cut(text string) string {
	letters := []rune(text)
	if len(letters) <= detailColumns {
		return text
	}
	return string(letters[:detailColumns-1]) + "…"
}
