package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Finding is one remark on a diff.
type Finding struct {
	Severity string `json:"severity"` // critical, warning or info
	Message  string `json:"message"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// The severities.
const (
	critical = "critical"
	warning  = "warning"
	info     = "info"
)

const (
	longLine = 140 // characters
	bigHunk  = 200 // added lines
)

// rule looks at one added line.
type rule struct {
	severity string
	message  string
	breaks   func(Line) bool
}

// rules are all rules for lines, the gravest first. A message never quotes the line: it may hold the very secret.
var rules = []rule{
	{critical, "this looks like a secret: keep it out of the code", secret},
	{critical, "a merge conflict is not resolved", matches(`^(<{7}|>{7}) `)},
	{warning, "an error or a result is thrown away", ignored},
	{warning, "an exception is caught and forgotten", matches(`^\s*except[^:]*:\s*pass\b|catch\s*(\([^)]*\))?\s*\{\s*\}`)},
	{warning, "a print for debugging is left in", debugPrint},
	{info, "something is left to do here", matches(`\b(TODO|FIXME|XXX|HACK)\b`)},
	{info, fmt.Sprintf("the line is longer than %d characters", longLine), func(l Line) bool {
		return utf8.RuneCountInString(l.Text) > longLine
	}},
	{info, "there is white space at the end of the line", func(l Line) bool {
		text := strings.TrimSuffix(l.Text, "\r")
		return strings.TrimRight(text, " \t") != text
	}},
}

// Review applies every rule to every line that a diff adds. Findings come in the order of the diff; none is an empty list.
func Review(diff string) []Finding {
	findings := []Finding{}
	for _, hunk := range Parse(diff) {
		if n := len(hunk.Added); n > bigHunk {
			message := fmt.Sprintf("%d lines are added in one piece: smaller changes are easier to review", n)
			findings = append(findings, Finding{warning, message, hunk.File, hunk.Start})
		}
		for _, line := range hunk.Added {
			findings = append(findings, check(line)...)
		}
	}
	return findings
}

func check(line Line) []Finding {
	var findings []Finding
	for _, r := range rules {
		if r.breaks(line) {
			findings = append(findings, Finding{r.severity, r.message, line.File, line.Number})
		}
	}
	return findings
}

func matches(pattern string) func(Line) bool {
	expression := regexp.MustCompile(pattern)
	return func(l Line) bool { return expression.MatchString(l.Text) }
}

var (
	knownSecret = regexp.MustCompile(`AKIA[0-9A-Z]{16}|gh[pousr]_[0-9A-Za-z]{36}|xox[abprs]-[0-9A-Za-z-]{10,}|` +
		`-----BEGIN [A-Z ]*PRIVATE KEY-----|://[^/\s:@"']+:[^/\s:@"'$%{<]+@`)
	namedSecret = regexp.MustCompile(`(?i)(passw(or)?d|secret|token|api_?key|private_?key)["']?\s*(:=|=>|=|:)\s*["']([^"']{8,})["']`)
	placeholder = regexp.MustCompile(`(?i)^(\$|\{\{|<|%)|example|changeme|placeholder|your[_-]|xxxx|\*\*\*`)
)

// secret finds keys of a known form, and texts of some length that are given to a telling name.
func secret(l Line) bool {
	if knownSecret.MatchString(l.Text) {
		return true
	}
	found := namedSecret.FindStringSubmatch(l.Text)
	return found != nil && !placeholder.MatchString(found[len(found)-1])
}

var blankOnly = regexp.MustCompile(`^\s*_(\s*,\s*_)*\s*:?=\s*[\w.]+\(`)

// ignored finds a Go call whose results all go nowhere. A blank among other results may well be meant.
func ignored(l Line) bool {
	return (path.Ext(l.File) == ".go" || l.File == "") && blankOnly.MatchString(l.Text)
}

var prints = map[string]*regexp.Regexp{
	".go":   regexp.MustCompile(`^\s*(fmt\.Print(ln|f)?|println|spew\.Dump)\(`),
	".py":   regexp.MustCompile(`^\s*(print\(|import pdb|breakpoint\(\))`),
	".js":   regexp.MustCompile(`\bconsole\.(log|debug|trace)\(|^\s*debugger;`),
	".java": regexp.MustCompile(`\bSystem\.(out|err)\.print|\.printStackTrace\(\)`),
	".rs":   regexp.MustCompile(`\b(dbg|println)!\(`),
	".rb":   regexp.MustCompile(`^\s*(p|puts|binding\.pry)\b`),
	".php":  regexp.MustCompile(`\b(var_dump|print_r)\(`),
}

var sameAs = map[string]string{".ts": ".js", ".jsx": ".js", ".tsx": ".js", ".mjs": ".js", ".kt": ".java"}

// debugPrint knows what people print with in each language.
func debugPrint(l Line) bool {
	extension := strings.ToLower(path.Ext(l.File))
	if other, found := sameAs[extension]; found {
		extension = other
	}
	expression, found := prints[extension]
	return found && expression.MatchString(l.Text)
}
