package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// unset is a connection to a broker whose streams and buckets are not set up.
func unset(t *testing.T) *broker.Conn {
	t.Helper()
	conn, _ := bare(t, brokertest.New(t))
	return conn
}

func backup(t *testing.T, conn *broker.Conn) (*broker.Backup, []byte) {
	t.Helper()
	var file bytes.Buffer
	taken, err := conn.Backup(t.Context(), &file)
	if err != nil {
		t.Fatal(err)
	}
	return taken, file.Bytes()
}

// entries are all messages of the ledger, by sequence.
func entries(t *testing.T, conn *broker.Conn, to uint64) map[uint64]broker.Entry {
	t.Helper()
	all := make(map[uint64]broker.Entry)
	err := conn.Ledger().Range(t.Context(), 1, to, func(e broker.Entry) error {
		all[e.Sequence] = e
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestABackupIsTakenUnderLoadAndGoesOnInAnotherBroker(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	for range 300 {
		write(t, conn.Ledger(), queued())
	}
	fixed := write(t, conn.Ledger(), queued())
	brief := queued()
	brief.TTL = time.Second
	write(t, conn.Ledger(), brief)
	if _, err := conn.Agents().Create(t.Context(), "laptop-1", record("1.0.0"), 0); err != nil {
		t.Fatal(err)
	}
	writing, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for writing.Err() == nil {
			_, _ = conn.Ledger().Write(writing, queued())
		}
	}()
	taken, file := backup(t, conn)
	stop()
	<-ended

	second := unset(t)
	restored, err := second.Restore(t.Context(), bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(taken, restored); diff != "" || taken.Streams[0].Name != "REACH" || len(taken.Streams) < 4 {
		t.Errorf("saved %+v and restored (-saved +restored):\n%s", taken.Streams, diff)
	}
	if err := second.Setup(t.Context()); err != nil {
		t.Fatalf("the restored streams are not the house's: %v", err)
	}
	last := taken.Streams[0].Last
	saved, got := entries(t, conn, last), entries(t, second, last)
	ends := cmpopts.IgnoreMapEntries(func(_ uint64, e broker.Entry) bool { return e.TaskID == brief.TaskID })
	if diff := cmp.Diff(saved, got, ends); diff != "" {
		t.Errorf("the ledger (-saved +restored):\n%s", diff)
	}
	if agent, err := second.Agents().Get(t.Context(), "laptop-1"); err != nil || agent.Value.Registration.Version != "1.0.0" {
		t.Errorf("the agent is %+v, %v", agent, err)
	}

	again := fixed
	again.Phase, again.Agent, again.Previous, again.Write, again.Sequence = schemas.PhaseAssigned, "laptop-1", 0, "", 0
	if _, err := second.Ledger().Write(t.Context(), again); err == nil {
		t.Error("a write without knowledge of the restored one is taken")
	}
	again.Previous = fixed.Sequence
	if e, err := second.Ledger().Write(t.Context(), again); err != nil || e.Sequence != last+1 {
		t.Errorf("the next write is %d, %v, not %d", e.Sequence, err, last+1)
	}
	brokertest.Eventually(t, "the end of what was to be kept briefly", func() bool {
		_, err := second.Ledger().Last(t.Context(), brief.TaskID)
		return errors.Is(err, broker.ErrNotFound)
	})
}

func TestABackupThatCannotBeRestoredLeavesAllAsItWas(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	write(t, conn.Ledger(), queued())
	_, file := backup(t, conn)
	flipped := bytes.Clone(file)
	flipped[len(flipped)/8] ^= 1
	later := bytes.Replace(file, []byte(`"v": 1`), []byte(`"v": 9`), 1)
	empty := unset(t)
	tests := []struct {
		name string
		conn *broker.Conn
		file []byte
		want error
	}{
		{"a broker that has a ledger", conn, file, broker.ErrNotEmpty},
		{"half a file", empty, file[:len(file)/2], broker.ErrBadBackup},
		{"no file at all", empty, nil, broker.ErrBadBackup},
		{"a bit that has changed", empty, flipped, broker.ErrBadBackup},
		{"a file of something else", empty, []byte("reach"), broker.ErrBadBackup},
		{"a manifest that was changed", empty, later, broker.ErrBadBackup},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := tt.conn.Restore(t.Context(), bytes.NewReader(tt.file), int64(len(tt.file))); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	if _, err := empty.Restore(t.Context(), bytes.NewReader(file), int64(len(file))); err != nil {
		t.Errorf("what was refused has left something behind: %v", err)
	}
}

func TestThereIsNothingToSaveInAnEmptyBroker(t *testing.T) {
	t.Parallel()
	_, err := unset(t).Backup(t.Context(), new(bytes.Buffer))
	wantCode(t, err, schemas.NotFound, "NO_LEDGER")
}

func TestABackupThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	conn := brokertest.New(t).Conn(t)
	write(t, conn.Ledger(), queued())
	full := fmt.Errorf("the disk is full")
	if _, err := conn.Backup(t.Context(), failing{full}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if _, file := backup(t, conn); len(file) == 0 {
		t.Error("the next one is empty")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
