package brokertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker/embedded"
)

func TestAKilledChildKeepsPortAndData(t *testing.T) {
	t.Parallel()
	p := Child(t)
	mustStore(t, p.URL(), 1)

	p.Kill()
	p.Kill()
	if _, err := nats.Connect(p.URL()); err == nil {
		t.Fatal("a killed broker answers")
	}
	p.Restart()
	mustStore(t, p.URL(), 2)
	p.Restart()
	mustStore(t, p.URL(), 3)
}

func TestAStoppedChildAnswersWhenItGoesOn(t *testing.T) {
	t.Parallel()
	p := Child(t)
	js := dial(t, p.URL())
	p.Stop()
	Eventually(t, "the stopped broker no longer answers", func() bool { return js.Conn().FlushTimeout(50*time.Millisecond) != nil })
	p.Continue()
	if err := js.Conn().FlushTimeout(patience); err != nil {
		t.Fatalf("it does not go on: %v", err)
	}
}

func TestADirectoryOfAnotherProcessIsRefused(t *testing.T) {
	t.Parallel()
	p := Child(t)
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: p.cfg.Dir})
	want := fmt.Sprintf("in use by process %d", p.command.Process.Pid)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want one that says %q", err, want)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var w tail
	for range 3 {
		_, _ = w.Write([]byte(strings.Repeat("x", tailSize)))
	}
	_, _ = w.Write([]byte("the end\n"))
	if got := w.String(); len(got) > tailSize || !strings.HasSuffix(got, "xthe end") {
		t.Errorf("got %d bytes that end in %q", len(got), got[len(got)-10:])
	}
}
