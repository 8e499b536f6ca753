package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/mcp"
)

// runServer is the test binary as an MCP server on stdin and stdout.
func runServer(which string) {
	switch which {
	case "noisy":
		fmt.Print("server 1.2 ready\n\n{\"level\":\"info\"}\n")
	case "broken":
		fmt.Fprintln(os.Stderr, "no module named agent")
		os.Exit(3)
	case "mute":
		return
	case "silent":
		time.Sleep(time.Minute)
	}
	s := obedient()
	s.AddTool(tool("environment"), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(string(schemas.MustEncode(os.Environ()))), nil
	})
	s.AddTool(tool("die"), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, strings.Repeat("still working\n", 4000)+"out of memory") // there, and not yet read, when stdout ends
		os.Exit(9)
		return nil, errors.New("not reached")
	})
	s.AddTool(tool("pid"), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(fmt.Sprint(os.Getpid())), nil
	})
	s.AddTool(tool("long"), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(`"` + strings.Repeat("x", 1<<20) + `"`), nil
	})
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestNoiseOnStdoutIsNoMessage(t *testing.T) {
	t.Parallel()
	if got := run(t, newAgent(t, program("noisy", mcp.Config{})), "pid", `{}`); got.Code != "" || got.Result == "" {
		t.Errorf("got %+v", got)
	}
}

func TestASessionIsKeptUntilTheProgramDies(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, program("obedient", mcp.Config{}))
	first := run(t, agent, "pid", `{}`)
	if again := run(t, agent, "pid", `{}`); again.Result != first.Result || first.Result == "" {
		t.Errorf("two calls, two programs: %+v and %+v", first, again)
	}
	got := run(t, agent, "die", `{}`)
	if got.Ran != schemas.RanUnknown || got.Reason != schemas.ReasonConnectionLost || !strings.HasSuffix(got.Stderr, "out of memory") {
		t.Errorf("got %+v", got)
	}
	if next := run(t, agent, "pid", `{}`); next.Result == first.Result || next.Code != "" {
		t.Errorf("the next: %+v", next)
	}
}

func TestAnOverlongMessageEndsItsCallAlone(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, program("obedient", mcp.Config{MaxResult: 600 << 10}))
	first := run(t, agent, "pid", `{}`)
	if got := run(t, agent, "long", `{}`); got.Reason != schemas.ReasonResultTooLarge || got.Ran != schemas.RanYes {
		t.Errorf("got %+v", got)
	}
	if next := run(t, agent, "pid", `{}`); next.Result != first.Result {
		t.Errorf("the next: %+v", next)
	}
}

func TestAProgramThatDoesNotGreet(t *testing.T) {
	t.Parallel()
	said := map[string]string{
		"broken": "the agent's program exited with 3 before it had greeted; the last that it said: no module named agent",
		"mute": "the agent's program exited with 0 before it had greeted, and said nothing on stderr: " +
			"it has to be an MCP server on stdin and stdout; run its command by hand",
		"silent": "the server did not greet within 300ms: is it an MCP server on stdin and stdout?",
	}
	for which, want := range map[string]outcome{
		"broken": {Code: schemas.Unavailable, Reason: schemas.ReasonCannotConnect, Ran: schemas.RanNo, Stderr: "no module named agent"},
		"mute":   {Code: schemas.Unavailable, Reason: schemas.ReasonCannotConnect, Ran: schemas.RanNo},
		"silent": {Code: schemas.Unavailable, Reason: schemas.ReasonCannotConnect, Ran: schemas.RanNo},
	} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			var cfg mcp.Config
			if which == "silent" {
				cfg.ConnectTimeout = 300 * time.Millisecond
			}
			agent := newAgent(t, program(which, cfg))
			if got := run(t, agent, "pid", `{}`); got.without() != want.without() || got.Stderr != want.Stderr || got.Said != said[which] {
				t.Errorf("got %+v", got)
			}
			if err := agent.Health(t.Context()); err == nil {
				t.Error("it is well")
			}
		})
	}
}

// TestSecretsStayHere runs alone: it changes the environment.
func TestSecretsStayHere(t *testing.T) {
	t.Setenv("REACH_PSK", "marker")
	t.Setenv("SOME_API_KEY", "marker")
	t.Setenv("HARMLESS", "here")
	got := run(t, newAgent(t, program("obedient", mcp.Config{Env: []string{"GIVEN_TOKEN=given"}})), "environment", `{}`)
	if strings.Contains(got.Result, "marker") || !strings.Contains(got.Result, "GIVEN_TOKEN=given") ||
		!strings.Contains(got.Result, "HARMLESS=here") {
		t.Errorf("got %+v", got)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := mcp.New(mcp.Config{Command: []string{"./no-such-server"}}); err == nil {
		t.Error("it was taken")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "server")
	if err := os.Symlink("/bin/cat", path); err != nil {
		t.Skip(err)
	}
	agent := newAgent(t, mcp.Config{Command: []string{"./server"}, Dir: dir})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := run(t, agent, "echo", `{}`); got.Reason != schemas.ReasonCannotConnect || got.Ran != schemas.RanNo {
		t.Errorf("got %+v", got)
	}
}
