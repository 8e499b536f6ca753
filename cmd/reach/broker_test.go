package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker/embedded"
	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/exit"
)

func TestClusterNode(t *testing.T) {
	t.Parallel()
	password := filepath.Join(t.TempDir(), "password")
	writeFile(t, password, "pw\n")
	cluster := func(listen string, more ...string) []string {
		return append([]string{"REACH_BROKER_CLUSTER_NAME=lab", "REACH_BROKER_CLUSTER_LISTEN=" + listen}, more...)
	}
	secured := []string{"REACH_BROKER_CLUSTER_USER=node", "REACH_BROKER_CLUSTER_PASSWORD_FILE=" + password}
	for _, tt := range []struct {
		name    string
		environ []string
		node    string
		want    embedded.Cluster
	}{
		{"a broker alone", nil, "", embedded.Cluster{}},
		{
			"a node on this machine has a name of its own", cluster("127.0.0.1:6222", "REACH_BROKER_CLUSTER_ROUTES=a:1,b:2"),
			nodeName("127.0.0.1:6222"),
			embedded.Cluster{Name: "lab", Listen: "127.0.0.1:6222", Routes: []string{"a:1", "b:2"}},
		},
		{
			"a node whose name is given", cluster("127.0.0.1:6222", "REACH_BROKER_NAME=n1"),
			"n1",
			embedded.Cluster{Name: "lab", Listen: "127.0.0.1:6222"},
		},
		{
			"a shared password lets nodes be on several machines", cluster("0.0.0.0:6222", secured...),
			nodeName("0.0.0.0:6222"),
			embedded.Cluster{Name: "lab", Listen: "0.0.0.0:6222", User: "node", Password: "pw"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			settings, err := config.Load(config.Sources{Environ: tt.environ})
			if err != nil {
				t.Fatal(err)
			}
			got, err := embeddedConfig(settings, zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Cluster); diff != "" || got.ServerName != tt.node {
				t.Errorf("named %s, want %s\n%s", got.ServerName, tt.node, diff)
			}
		})
	}
}

func TestAnOpenClusterNeedsAPassword(t *testing.T) {
	t.Parallel()
	environ := []string{"REACH_BROKER_CLUSTER_NAME=lab", "REACH_BROKER_CLUSTER_LISTEN=0.0.0.0:6222"}
	settings, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := embeddedConfig(settings, zerolog.Nop()); exit.Code(err) != exit.Usage {
		t.Errorf("got %v", err)
	}
}

func TestSyncAtEveryWrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"0s": true, "100ms": false} {
		settings, err := config.Load(config.Sources{Environ: []string{"REACH_BROKER_SYNC_INTERVAL=" + text}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := embeddedConfig(settings, zerolog.Nop()); err != nil || got.SyncAlways != want {
			t.Errorf("%s: SyncAlways = %v, %v", text, got.SyncAlways, err)
		}
	}
}

func TestAListenerThatCannotBeOpenedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"the port is taken", syscall.EADDRINUSE, "choose another address with --http"},
		{"too many files are open in the process", syscall.EMFILE, "ulimit -n"},
		{"too many files are open on the machine", syscall.ENFILE, "ulimit -n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := elsewhere(&net.OpError{Op: "listen", Err: os.NewSyscallError("socket", tt.err)}, "--http")
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
