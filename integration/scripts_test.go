package integration

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// TestScripts tells the stories of testdata/script with the real binaries, in processes of their own. Beside the usual commands of
// testscript, a story has
//
//	endpoints DIR            waits until `reach up --data DIR` answers, and sets REACH_URL, HTTP, MQTT and MQTT_PORT to where
//	until PATTERN PROGRAM…   runs a program again and again until its stdout matches
//	exits CODE PROGRAM…      runs a program and demands its exit code
//	member VAR FILE NAME     sets VAR to a member of the JSON object in FILE, or in stdout
//	metrics PATTERN          waits until a line of $HTTP/metrics matches
//	address VAR              sets VAR to a loopback address where nobody listens, for a program that must get it again
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, stories(t, "script"))
}

// stories are those of a folder of testdata.
func stories(t *testing.T, folder string) testscript.Params {
	t.Helper()
	bin := buildPrograms(t)
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir: filepath.Join("testdata", folder),
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("BIN", bin)
			env.Setenv("REPOSITORY", repository)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", "atexit_sleep_ms=0")       // a story runs many short commands
			env.Setenv("REACH_BROKER_SYNC_INTERVAL", "20s") // as in the configuration of a house
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"endpoints": storyEndpoints, "until": storyUntil, "exits": storyExits, "member": storyMember,
			"metrics": storyMetrics,
			"address": func(ts *testscript.TestScript, _ bool, args []string) {
				want(ts, args, "VAR")
				ts.Setenv(args[0], brokertest.FreeAddress(t))
			},
		},
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	}
}

// programs are the binary, the demo and its agents, built once for all tests that run them.
var programs struct {
	once   sync.Once
	folder string
	err    error
}

// buildPrograms builds them into a folder of their own, with the race detector if the tests have it.
func buildPrograms(t testing.TB) (folder string) {
	t.Helper()
	programs.once.Do(func() {
		if programs.folder, programs.err = os.MkdirTemp("", "reach"); programs.err != nil {
			return
		}
		args := []string{"build", "-o", programs.folder + string(filepath.Separator)}
		if underRace {
			args = append(args, "-race")
		}
		args = append(args, "../cmd/reach", "../scripts/demo", "../scripts/agents/...")
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			programs.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if programs.err != nil {
		t.Fatalf("build: %v", programs.err)
	}
	return programs.folder
}

// removePrograms is for the end of all tests.
func removePrograms() {
	if programs.folder != "" {
		_ = os.RemoveAll(programs.folder)
	}
}

// patience is how long a story waits for what must come.
const patience = 30 * time.Second

// eventually calls try until it is satisfied.
func eventually(ts *testscript.TestScript, what string, try func() bool) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !try(); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func storyEndpoints(ts *testscript.TestScript, _ bool, args []string) {
	want(ts, args, "DIR")
	var where struct {
		HTTP string `json:"http"`
		NATS string `json:"nats"`
		MQTT string `json:"mqtt"`
	}
	eventually(ts, "endpoints of "+args[0], func() bool {
		content, err := os.ReadFile(filepath.Join(ts.MkAbs(args[0]), "endpoints.json"))
		return err == nil && schemas.Decode(content, &where) == nil
	})
	ts.Setenv("REACH_URL", where.NATS)
	ts.Setenv("HTTP", where.HTTP)
	ts.Setenv("MQTT", where.MQTT)
	ts.Setenv("MQTT_PORT", where.MQTT[strings.LastIndexByte(where.MQTT, ':')+1:])
}

func storyUntil(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("it takes PATTERN PROGRAM ARG…")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	eventually(ts, strings.Join(args, " "), func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && pattern.MatchString(ts.ReadFile("stdout"))
	})
}

func storyExits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("it takes CODE PROGRAM ARG…")
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var ended *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if got != code {
		ts.Fatalf("exit code %d, not %d", got, code)
	}
}

func storyMember(ts *testscript.TestScript, _ bool, args []string) {
	want(ts, args, "VAR", "FILE", "NAME")
	var members map[string]schemas.Payload
	ts.Check(schemas.Decode([]byte(ts.ReadFile(args[1])), &members))
	value := []byte(members[args[2]])
	if text := ""; schemas.Decode(value, &text) == nil {
		value = []byte(text)
	}
	if len(value) == 0 {
		ts.Fatalf("there is no %s", args[2])
	}
	ts.Setenv(args[0], string(value))
}

func storyMetrics(ts *testscript.TestScript, _ bool, args []string) {
	want(ts, args, "PATTERN")
	pattern, err := regexp.Compile("(?m)^" + args[0])
	ts.Check(err)
	eventually(ts, "metrics "+args[0], func() bool {
		response, err := http.Get(ts.Getenv("HTTP") + "/metrics")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return err == nil && pattern.Match(text)
	})
}

func want(ts *testscript.TestScript, args []string, names ...string) {
	if len(args) != len(names) {
		ts.Fatalf("it takes %s", strings.Join(names, " "))
	}
}
