package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

func TestJournalNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		agents []string
		url    string
		want   string
	}{
		{"one agent", []string{"laptop-1"}, "nats://127.0.0.1:4222", "laptop-1@127.0.0.1_4222"},
		{"agents in any order", []string{"b", "a"}, "nats://127.0.0.1:4222", "a+b@127.0.0.1_4222"},
		{"servers in any order", []string{"a"}, "nats://two:4222, tls://one:4222/", "a@one_4222+two_4222"},
		{"credentials stay out", []string{"a"}, "nats://me:s3cret@one:4222", "a@one_4222"},
		{"an address without scheme", []string{"a"}, "one:4222", "a@one_4222"},
		{"an address of version 6", []string{"a"}, "nats://[::1]:4222", "a@___1__4222"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := journalName(tt.agents, tt.url); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLongJournalNamesAreCutAndStayDifferent(t *testing.T) {
	t.Parallel()
	agent := strings.Repeat("agent-", 10)
	one, other := journalName([]string{agent, agent + "1"}, "nats://one:4222"), journalName([]string{agent, agent + "2"}, "nats://one:4222")
	if len(one) != maxJournalName || one == other || !strings.HasPrefix(one, agent) {
		t.Errorf("got %s and %s", one, other)
	}
}

func TestWhereTheJournalIs(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	file := filepath.Join(state, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, said, state, want string }{
		{"nobody said", "", state, filepath.Join(state, "reach", "worker", "a@one_4222")},
		{"somebody did", "/var/lib/reach/journal", state, "/var/lib/reach/journal"},
		{"none is wanted", "none", state, ""},
		{"nobody said, and it cannot be made", "", file, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := &app{environ: []string{"XDG_STATE_HOME=" + tt.state}}
			if got := a.journalDir(tt.said, []string{"a"}, "nats://one:4222", zerolog.New(io.Discard)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
