//go:build unix

package integration

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestForeignAgents tells the stories of testdata/foreign: agents on libraries, and servers from registries, that nobody here wrote.
// Beside what TestScripts knows, a story has
//
//	[python:MODULE,…]        whether Debian's Python has these
//	[npm:PACKAGE,…]          whether `make foreign` has installed these; NODE is where
//	agent VAR SCRIPT ARG…    starts a script of foreign/agents, waits until it is ready, sets VAR to its address; VAR.log is what it says
//	fill FILE…               replaces $VAR in files
//
// What is not there is skipped, loudly; in CI it is a failure.
func TestForeignAgents(t *testing.T) {
	t.Parallel()
	params := stories(t, "foreign")
	params.Cmds["agent"], params.Cmds["fill"] = foreignAgent, foreignFill
	params.Condition = foreignCondition
	setUp := params.Setup
	params.Setup = func(env *testscript.Env) error {
		node, err := filepath.Abs(nodeFolder)
		env.Setenv("NODE", node)
		return errors.Join(err, setUp(env))
	}
	testscript.Run(t, params)
}

var nodeFolder = filepath.Join("foreign", "node")

// debianPython is the one that Debian's packages belong to; another may come first on PATH.
const debianPython = "/usr/bin/python3"

func foreignCondition(condition string) (bool, error) {
	kind, names, _ := strings.Cut(condition, ":")
	var err error
	switch kind {
	case "python":
		err = pythonHas(names)
	case "npm":
		err = npmHas(strings.Split(names, ","))
	default:
		return false, fmt.Errorf("no such condition: %s", condition)
	}
	if err == nil || os.Getenv("CI") != "" {
		return true, err
	}
	fmt.Fprintf(os.Stderr, "\n*** NOT TESTED: foreign agents: %v ***\n\n", err)
	return false, nil
}

func pythonHas(modules string) error {
	if out, err := exec.Command(debianPython, "-c", "import "+modules).CombinedOutput(); err != nil {
		return fmt.Errorf("%s -c 'import %s': %w %s(apt-get install python3-fastapi python3-uvicorn python3-websockets python3-grpcio python3-protobuf)",
			debianPython, modules, err, out)
	}
	return nil
}

func npmHas(packages []string) error {
	for _, name := range packages {
		if _, err := os.Stat(filepath.Join(nodeFolder, "node_modules", name)); err != nil {
			return fmt.Errorf("%w (make foreign)", err)
		}
	}
	_, err := exec.LookPath("npx")
	return err
}

func foreignAgent(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("it takes VAR SCRIPT ARG…")
	}
	script, err := filepath.Abs(filepath.Join("foreign", "agents", args[1]))
	ts.Check(err)
	log, err := os.Create(ts.MkAbs(args[0] + ".log"))
	ts.Check(err)
	command := exec.Command(debianPython, append([]string{"-u", script}, args[2:]...)...)
	command.Dir = ts.Getenv("WORK")
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	command.Stdout, command.Stderr = log, log
	ts.Check(command.Start())
	ts.Defer(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
	})
	eventually(ts, args[1]+" is ready", func() bool {
		address := readyAt(log.Name())
		ts.Setenv(args[0], address)
		return address != ""
	})
}

// readyAt is the address that an agent has said in its log; empty if it has not yet.
func readyAt(path string) string {
	log, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = log.Close() }()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if address, found := strings.CutPrefix(lines.Text(), "ready "); found {
			return address
		}
	}
	return ""
}

func foreignFill(ts *testscript.TestScript, _ bool, files []string) {
	for _, file := range files {
		filled := os.Expand(ts.ReadFile(file), func(name string) string {
			if value := ts.Getenv(name); value != "" {
				return value
			}
			return "$" + name
		})
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(filled), 0o600))
	}
}
