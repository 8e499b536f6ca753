package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// decision is the detail of a routed hop: where a task went, and why.
type decision struct {
	Rule       string   `json:"rule"`
	Route      string   `json:"route"`
	Meant      string   `json:"meant"`
	Share      string   `json:"share"`
	Missed     bool     `json:"share_missed"`
	Preferred  string   `json:"preferred"`
	Winner     string   `json:"winner"`
	Chain      []string `json:"chain"`
	From       string   `json:"from"`
	Code       string   `json:"code"`
	Reason     string   `json:"reason"`
	Candidates []struct {
		AgentID string  `json:"agent_id"`
		Score   float64 `json:"score"`
		Taken   float64 `json:"taken"`
	} `json:"candidates"`
	LeftOut []schemas.LeftOut    `json:"left_out"`
	Factors map[string][]float64 `json:"factors"` // of each candidate, or once where all are alike
}

// decisionOf reads a routed hop; found is false for any other, and for one that cannot be read.
func decisionOf(hop schemas.Hop) (d decision, found bool) {
	if hop.Hop != schemas.HopRouted || hop.Detail == nil {
		return d, false
	}
	return d, schemas.Decode(hop.Detail, &d) == nil
}

// rule is what the decision followed: the rule, and the route's name where a route was in it.
func (d decision) rule() string {
	text := d.Rule
	if d.Meant != "" {
		text += " " + d.Meant
	}
	if d.Route != "" && d.Route != d.Rule {
		text += " " + d.Route
	}
	switch {
	case d.Share != "" && d.Missed:
		text += ", no agent of " + d.Share
	case d.Share != "":
		text += ", " + d.Share
	case d.Missed:
		text += ", no agent of the rest"
	}
	if d.Preferred != "" && d.Preferred == d.Winner {
		text += ", preferred"
	}
	return Text(text)
}

// after is what led to the decision: the agent that had the task before, and how it failed.
func (d decision) after() string {
	failed := d.failed()
	switch {
	case d.From == "":
		return Text(failed)
	case failed == "":
		return Text(d.From)
	}
	return Text(d.From + ": " + failed)
}

func (d decision) failed() string { return strings.TrimSpace(d.Code + " " + d.Reason) }

// to is where the task went.
func (d decision) to() string {
	switch {
	case d.Winner != "":
		return Text(d.Winner)
	case d.Rule == "retry":
		return "later"
	}
	return "the queue"
}

// brief is the decision on one line.
func (d decision) brief() string {
	text := d.rule()
	if after := d.after(); after != "" {
		text += " after " + after
	}
	text += " → " + d.to()
	if n := len(d.Candidates); n > 1 {
		text += fmt.Sprintf(", best of %d", n)
	}
	if n := len(d.LeftOut); n > 0 {
		text += fmt.Sprintf(", %d left out", n)
	}
	return text
}

// Decisions explains a task's way: each decision about where it went, and who was looked at for it.
func Decisions(w io.Writer, t *schemas.Trace) {
	fields(w,
		field{"TASK", t.Task.TaskID},
		field{"STATE", fmt.Sprintf("%s (%s)", t.Task.State, t.Task.Phase)},
		field{"CAPABILITY", t.Task.Capability},
		field{"AGENT", agent(&t.Task)},
		field{"ERROR", failure(t.Task.Error)},
	)
	var steps, considered [][]string
	since := offsets(t.Hops)
	for i, hop := range t.Hops {
		d, found := decisionOf(hop)
		if !found {
			continue
		}
		step := strconv.Itoa(len(steps) + 1)
		steps = append(steps, []string{
			step, fmt.Sprintf("%d ms", since[i].Milliseconds()), d.rule(), d.to(), or(Text(strings.Join(d.Chain, ", "))), or(d.after()),
		})
		considered = append(considered, d.considered(step)...)
	}
	_, _ = fmt.Fprintln(w)
	Rows(w, []string{"STEP", "AT", "RULE", "WENT TO", "CHAIN", "AFTER"}, steps)
	if len(considered) > 0 {
		_, _ = fmt.Fprintln(w)
		Rows(w, []string{"STEP", "CANDIDATE", "SCORE", "BUSY", "VERDICT", "FACTORS"}, considered)
	}
}

// considered are the rows of the agents that a decision looked at.
func (d decision) considered(step string) (rows [][]string) {
	for i, c := range d.Candidates {
		rows = append(rows, []string{step, Text(c.AgentID), score(c.Score), fmt.Sprintf("%.0f %%", c.Taken*100), d.verdict(i), or(d.factors(i))})
	}
	for _, x := range d.LeftOut {
		verdict := leftOut(x)
		if x.AgentID == d.Preferred {
			verdict = passedOver(x)
		}
		rows = append(rows, []string{step, Text(x.AgentID), "-", "-", verdict, "-"})
	}
	return rows
}

// verdict is what became of a candidate. A preferred agent goes before all that have room, whatever its score.
func (d decision) verdict(candidate int) string {
	id := d.Candidates[candidate].AgentID
	switch {
	case id == d.Winner && id == d.Preferred:
		return "chosen: preferred"
	case id == d.Winner:
		return "chosen"
	case id == d.Preferred:
		return fmt.Sprintf("number %d, preferred, but it is full", candidate+1)
	}
	return fmt.Sprintf("number %d", candidate+1)
}

// factors are those that made the score of a candidate.
func (d decision) factors(candidate int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(d.Factors)) {
		values := d.Factors[name]
		if at := min(candidate, len(values)-1); at >= 0 {
			parts = append(parts, Text(name)+" "+number(values[at]))
		}
	}
	return strings.Join(parts, ", ")
}

func score(x float64) string { return fmt.Sprintf("%.3f", x) }

// whys are the reasons for which agents are left out, as people say them.
var whys = map[string]string{
	"capability": "it does not offer the capability now",
	"pending":    "nobody has approved it",
	"draining":   "it takes nothing new",
	"degraded":   "its probes fail, or it says that it is not well",
	"agent":      "another agent is asked for",
	"tried":      "it has failed with this task, or does not want it",
	"group":      "the tenant may not reach its groups",
	"version":    "its version is out of range",
	"breaker":    "its circuit breaker is open",
	"mode":       "it cannot stream",
	"large":      "its worker fetches no large payloads",
	"schema":     "its own schema refuses the payload",
	"unknown":    "no agent has this name",
	"presumed":   "nobody has heard it since the dispatcher started",
}

func leftOut(x schemas.LeftOut) string { return "left out: " + reason(x) }

// passedOver is leftOut of the agent that the caller would rather have had.
func passedOver(x schemas.LeftOut) string { return "preferred, passed over: " + reason(x) }

func reason(x schemas.LeftOut) string {
	text := Text(x.Why)
	if why := whys[x.Why]; why != "" {
		text += ", " + why
	}
	return text
}
