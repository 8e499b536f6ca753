package brokertest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Configured starts a NATS server that is not ours, with JetStream and what else its configuration says, and gives its address, host:port.
// It ends with the test.
func Configured(t testing.TB, configuration string) (address string) {
	t.Helper()
	dir, address := t.TempDir(), FreeAddress(t)
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: %q\njetstream { store_dir: %q }\n%s\n", address, dir, configuration)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("read the configuration: %v\n%s", err, text)
	}
	options.NoSigs, options.NoLog, options.SyncInterval = true, true, rarely
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return address
}
