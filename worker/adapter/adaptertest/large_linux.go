package adaptertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// Variables of the case that weighs bodies: how many megabytes they have (without it there is no such case), and, in the process that is
// weighed, where its agent is.
const (
	largeVariable = "ADAPTERTEST_LARGE_MB"
	agentVariable = "ADAPTERTEST_LARGE_AGENT"
)

const (
	rounds   = 3        // how often a body goes there and back
	besides  = 24 << 20 // bytes that it may take beside what it is
	roomMost = 4        // how many times the size of a body an answer may have on its transport
)

// large has a large payload go to the agent, and come back as the result, and looks at what the adapter takes for that at its peak. The
// adapter is in a process of its own; the agent is in this one, or is one of its own anyway.
func large(t *testing.T, s Subject) {
	megabytes, _ := strconv.Atoi(os.Getenv(largeVariable))
	size := megabytes * 1_000_000
	at, weighed := os.LookupEnv(agentVariable)
	switch {
	case megabytes == 0:
		t.Skip(largeVariable + "=100 weighs it")
	case s.Held < 0:
		t.Skip("it takes no bodies that large")
	case weighed:
		weigh(t, s.Start(t, roomMost*size, func(string) string { return at }).Handler, size)
		return
	}
	s.Start(t, roomMost*size, func(address string) string { at = address; return address })
	taken := weighApart(t, at)
	t.Logf("bodies of %d MB, %d times there and back: %d MB beside the payload at the peak", megabytes, rounds, taken/1_000_000)
	if most := max(s.Held, 1)*size + besides; taken > most {
		t.Errorf("%d bytes beside the payload at the peak, more than %d", taken, most)
	}
}

var weight = regexp.MustCompile(`weighs (\d+)`)

// weighApart runs this very case in another process, and gives what that found.
func weighApart(t *testing.T, agent string) (bytes int) {
	t.Helper()
	var only []string
	for _, name := range strings.Split(t.Name(), "/") {
		only = append(only, "^"+regexp.QuoteMeta(name)+"$")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, "-test.v", "-test.run", strings.Join(only, "/"))
	command.Env = append(os.Environ(), agentVariable+"="+agent)
	said, err := command.CombinedOutput()
	found := weight.FindSubmatch(said)
	if err != nil || found == nil {
		t.Fatalf("%v\n%s", err, said)
	}
	bytes, _ = strconv.Atoi(string(found[1]))
	return bytes
}

func weigh(t *testing.T, handler worker.Handler, size int) {
	t.Helper()
	const before, after = `{"do":"echo","value":"`, `"}`
	payload := make(schemas.Payload, 0, len(before)+size+len(after))
	payload = append(append(append(payload, before...), bytes.Repeat([]byte("x"), size-2)...), after...)
	debug.FreeOSMemory()
	resident := memory(t, "VmRSS:")
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak begins anew
		t.Skip(err)
	}
	for range rounds {
		task := NewTask(payload)
		task.Message.Assignment.Idempotent = true
		result, err := handler.Handle(context.WithoutCancel(t.Context()), task, new(Recorder))
		if err != nil || len(result) < size {
			t.Fatalf("%d bytes, %v", len(result), err)
		}
		debug.FreeOSMemory() // as a worker does after large bodies
	}
	fmt.Printf("weighs %d\n", memory(t, "VmHWM:")-resident)
	if len(payload) == 0 {
		t.Fatal("it is held until here")
	}
}

// memory is a figure of this process, in bytes.
func memory(t *testing.T, name string) (bytes int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), name)
	if _, err := fmt.Sscan(rest, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes << 10
}
