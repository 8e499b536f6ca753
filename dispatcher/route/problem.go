package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file of routes.
type Problem struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// String is the line and the reason.
func (p Problem) String() string { return fmt.Sprintf("line %d: %s", p.Line, p.Reason) }

// Problems is everything that is wrong with a file, by line. As an error it has a line of text for each.
type Problems []Problem

// Error lists the problems.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// orNil is the problems as an error, sorted and each named once; nil if there are none.
func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return slices.Compact(p)
}
