package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/shlex"
	"github.com/spf13/cobra"
)

// Where a page has a command of this program: within a sentence or a table, or on a line of its own, which may go on.
var (
	spoken = regexp.MustCompile("`(?:bin/)?reach ([^`]+)`")
	typed  = regexp.MustCompile(`(?m)^(?:\$ |.*\| |id=\$\(|if result=\$\()?(?:bin/)?reach ((?:.*\\\n)*.*)$`)
	fences = regexp.MustCompile("(?ms)^(?:```|<!-- )[^\n]*\n(.*?)^(?:```|-->)$")
)

// TestTheDocumentationSpeaksOfCommandsThatAreThere finds each command of this program that a page names, in passing too, and demands
// that it and its flags exist.
func TestTheDocumentationSpeaksOfCommandsThatAreThere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range commandsOf(string(content)) {
			found++
			if complaint := complaintAbout(command); complaint != "" {
				t.Errorf("%s: reach %s: %s", filepath.Base(page), command, complaint)
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d commands are found", found)
	}
}

// commandsOf are the commands of a page, without the program's name.
func commandsOf(page string) (commands []string) {
	for _, match := range spoken.FindAllStringSubmatch(fences.ReplaceAllString(page, ""), -1) {
		commands = append(commands, strings.ReplaceAll(match[1], `\|`, "|"))
	}
	for _, block := range fences.FindAllStringSubmatch(page, -1) {
		for _, match := range typed.FindAllStringSubmatch(block[1], -1) {
			commands = append(commands, strings.ReplaceAll(match[1], "\\\n", " "))
		}
	}
	return commands
}

// complaintAbout is what is wrong with a command. Placeholders, brackets and alternatives are as good as any argument.
func complaintAbout(text string) (complaint string) {
	words, err := shlex.Split(strings.NewReplacer("[", "", "]", "", "…", "").Replace(text))
	if err != nil {
		return err.Error()
	}
	if over := slices.IndexFunc(words, func(word string) bool { return word == "&" || word == ">" || word == "|" }); over >= 0 {
		words = words[:over] // the shell has its say
	}
	root := new(app).rootCommand()
	root.InitDefaultCompletionCmd()
	command, rest, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	command.InitDefaultHelpFlag()
	command.InitDefaultVersionFlag()
	for _, word := range rest {
		switch name, isLong := strings.CutPrefix(word, "--"); {
		case isLong && command.Flag(strings.SplitN(name, "=", 2)[0]) == nil:
			return "it has no " + word
		case !isLong && len(word) == 2 && word[0] == '-' && short(command, word[1:]) == "":
			return "it has no " + word
		}
	}
	if command.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && !strings.Contains(rest[0], "|") {
		return "it has no such verb"
	}
	return ""
}

// short is the long name of a flag of one letter.
func short(command *cobra.Command, letter string) string {
	if letter == "h" {
		return "help"
	}
	flag := command.Flags().ShorthandLookup(letter)
	if flag == nil {
		flag = command.InheritedFlags().ShorthandLookup(letter)
	}
	if flag == nil {
		return ""
	}
	return flag.Name
}
