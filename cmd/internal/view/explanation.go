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

// Explanation says where a message would go: the decision, then each agent with the factors in which the agents differ. Those in
// which they do not are named once.
func Explanation(w io.Writer, e *schemas.Explanation) {
	differing, shared := factors(e.Candidates)
	fields(w,
		field{"CAPABILITY", e.Capability},
		field{"RULE", Text(e.Rule)},
		field{"STRATEGY", Text(e.Strategy)},
		field{"SHARE", share(e)},
		field{"PREFERRED", preferred(e)},
		field{"AGENT", winner(e)},
		field{"CHAIN", Text(strings.Join(e.Chain, ", "))},
		field{"ALL ALIKE", strings.Join(shared, ", ")},
	)
	if len(e.Candidates) > 0 {
		_, _ = fmt.Fprintln(w)
		candidates(w, e.Candidates, differing)
	}
	if len(e.LeftOut) > 0 {
		_, _ = fmt.Fprintln(w)
		Rows(w, []string{"LEFT OUT", "WHY"}, absent(e.LeftOut))
	}
}

func winner(e *schemas.Explanation) string {
	switch {
	case e.Winner != "":
		return Text(e.Winner)
	case len(e.Candidates) > 0:
		return "none is free: it would wait"
	}
	return "none is online"
}

// share is the part of a split that the message falls to.
func share(e *schemas.Explanation) string {
	if !e.ShareMissed {
		return Text(e.Share)
	}
	return Text(e.Share) + ", but no agent of it is there: the task goes to the others"
}

// preferred is the agent that the caller would rather have, and what becomes of that.
func preferred(e *schemas.Explanation) string {
	if e.Preferred == "" {
		return ""
	}
	name := Text(e.Preferred)
	for _, x := range e.LeftOut {
		if x.AgentID == e.Preferred {
			return name + ", passed over: " + reason(x)
		}
	}
	if e.Winner == e.Preferred {
		return name + ", which goes first, whatever the scores"
	}
	return name + ", but it is full"
}

// factors are the names of those that tell the candidates apart, and those that do not, with what they are.
func factors(candidates []schemas.ExplainedCandidate) (differing, shared []string) {
	if len(candidates) == 0 {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(candidates[0].Factors)) {
		value := candidates[0].Factors[name]
		alike := !slices.ContainsFunc(candidates, func(c schemas.ExplainedCandidate) bool { return c.Factors[name] != value })
		if alike {
			shared = append(shared, Text(name)+" "+number(value))
		} else {
			differing = append(differing, name)
		}
	}
	return differing, shared
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

func candidates(w io.Writer, candidates []schemas.ExplainedCandidate, names []string) {
	header := []string{"AGENT", "SCORE", "BUSY"}
	for _, name := range names {
		header = append(header, strings.ToUpper(Text(name)))
	}
	var items [][]string
	for _, c := range candidates {
		item := []string{Text(c.AgentID), score(c.Score), fmt.Sprintf("%d/%d", c.InFlight, c.Slots)}
		for _, name := range names {
			item = append(item, score(c.Factors[name]))
		}
		items = append(items, item)
	}
	Rows(w, header, items)
}

func absent(agents []schemas.LeftOut) (items [][]string) {
	for _, x := range agents {
		items = append(items, []string{Text(x.AgentID), reason(x)})
	}
	return items
}
