package embedded

import (
	"net"
	"strings"
	"testing"
	"time"
)

func TestAnMQTTListenerTakesAFreePort(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), Config{Dir: t.TempDir(), SyncInterval: time.Hour, MQTT: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address, found := strings.CutPrefix(s.MQTT(), "mqtt://")
	if !found || strings.HasSuffix(address, ":0") {
		t.Fatalf("it listens on %q", s.MQTT())
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestWithoutAnMQTTAddressThereIsNoListener(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), Config{Dir: t.TempDir(), SyncInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.MQTT() != "" {
		t.Errorf("it listens on %q", s.MQTT())
	}
}
