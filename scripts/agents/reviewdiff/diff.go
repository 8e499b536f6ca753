package main

import (
	"regexp"
	"strconv"
	"strings"
)

// Line is one line that a diff adds.
type Line struct {
	File   string // "" if the diff does not say
	Number int    // in the file as it is afterwards
	Text   string
}

// Hunk is one piece of a diff.
type Hunk struct {
	File  string
	Start int // the first line of it in the file as it is afterwards
	Added []Line
}

var hunkHeader = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// Parse reads a unified diff, as git and diff -u write it. What is none is passed over.
func Parse(diff string) []Hunk {
	p := &parser{}
	for line := range strings.Lines(diff) {
		p.take(strings.TrimSuffix(line, "\n"))
	}
	return p.hunks
}

// parser goes through a diff. Within a hunk the header's counts say where it ends, since an added line may look like a header.
type parser struct {
	hunks    []Hunk
	file     string
	number   int // of the next line in the new file
	old, now int // lines of the hunk that are still to come
}

func (p *parser) take(line string) {
	if p.old > 0 || p.now > 0 {
		p.body(line)
		return
	}
	if name, found := strings.CutPrefix(line, "+++ "); found {
		p.file = fileName(name)
		return
	}
	header := hunkHeader.FindStringSubmatch(line)
	if header == nil {
		return
	}
	p.old, p.now = count(header[1]), count(header[3])
	p.number, _ = strconv.Atoi(header[2])
	p.hunks = append(p.hunks, Hunk{File: p.file, Start: p.number})
}

func (p *parser) body(line string) {
	switch {
	case strings.HasPrefix(line, "+"):
		hunk := &p.hunks[len(p.hunks)-1]
		hunk.Added = append(hunk.Added, Line{p.file, p.number, line[1:]})
		p.number++
		p.now--
	case strings.HasPrefix(line, "-"):
		p.old--
	case strings.HasPrefix(line, `\`): // "\ No newline at end of file"
	default:
		p.number++
		p.old--
		p.now--
	}
}

// count is a number of lines in a header, where 1 is left out.
func count(text string) int {
	if text == "" {
		return 1
	}
	n, _ := strconv.Atoi(text)
	return n
}

// fileName drops what git and diff put around a name: a prefix, a time, quotes.
func fileName(header string) string {
	name, _, _ := strings.Cut(header, "\t")
	name = strings.TrimSpace(name)
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	if name == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(name, "b/")
}
