package config_test

import (
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/config"
)

func TestItemsSayWhereAValueCameFromAndMaskPasswords(t *testing.T) {
	t.Parallel()
	got, err := load(t, "broker:\n  url: nats://me:marker@a:4222,nats://token@b:4222\n", []string{"REACH_LOG_LEVEL=warn"},
		config.Setting{Key: "dictionary.files", Source: "--dictionary", Values: []string{"a.yaml", "b.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"broker.url":       "nats://me:***@a:4222,nats://***@b:4222",
		"log.level":        "warn",
		"dictionary.files": "a.yaml,b.yaml",
		"ledger.retention": "24h0m0s",
	} {
		if value := item(got, key).Value; value != want {
			t.Errorf("%s = %q, want %q", key, value, want)
		}
	}
	if got.Broker.URL != "nats://me:marker@a:4222,nats://token@b:4222" {
		t.Error("the value itself was masked")
	}
}

func TestMaskURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"nats://127.0.0.1:4222":       "nats://127.0.0.1:4222",
		"nats://u:p@h:1":              "nats://u:***@h:1",
		"nats://u:p@x%zz@h:1":         "nats://***@h:1",
		"nats://u:p@h:1,nats://q@h:2": "nats://u:***@h:1,nats://***@h:2",
		"me@example.org":              "me@example.org",
		"":                            "",
	} {
		if got := config.MaskURLs(text); got != want {
			t.Errorf("MaskURLs(%q) = %q, want %q", text, got, want)
		}
	}
}

func item(s *config.Settings, key string) config.Item {
	for _, item := range s.Items() {
		if item.Key == key {
			return item
		}
	}
	return config.Item{}
}
