package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const composeFile = `
services:
  broker:
    image: x
    command: [broker, --data=/data, --nats=0.0.0.0:4222, --password-file=/run/secrets/word]
    volumes: ["broker:/data"]
    secrets: [word]
    ports: ["127.0.0.1:4222:4222"]
    healthcheck: {test: [CMD, /reach, health, "nats://127.0.0.1:4222"]}
  agent:
    image: x
    entrypoint: [/agents/summarize]
    command: [-listen, "127.0.0.1:9000"]
  worker:
    image: x
    command: [worker, -f, /worker.yaml, --nats=nats://broker:4222, --other=elsewhere:4222]
    configs: [{source: served, target: /worker.yaml}]
    network_mode: service:agent
    depends_on:
      agent: {condition: service_started}
      broker: {condition: service_healthy}
volumes: {broker: {}}
configs: {served: {file: served.yaml}}
secrets: {word: {file: word}}
`

// counted gives the addresses 127.0.0.1:1, 127.0.0.1:2, and so on.
func counted() func() (string, error) {
	n := 0
	return func() (string, error) {
		n++
		return fmt.Sprintf("127.0.0.1:%d", n), nil
	}
}

func TestServicesBecomeProcesses(t *testing.T) {
	t.Parallel()
	source, dir := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"compose.yml": composeFile, "served.yaml": "url: nats://broker:4222\nendpoint: http://127.0.0.1:9000/run\n", "word": "",
	} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	project, err := load(t.Context(), filepath.Join(source, "compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := newPlan(project, "/bin", dir, counted()).services()
	if err != nil {
		t.Fatal(err)
	}
	want := []service{
		{name: "agent", command: []string{"/bin/summarize", "-listen", "127.0.0.1:1"}},
		{
			name: "broker",
			command: []string{
				"/bin/reach", "broker", "--data=" + dir + "/broker", "--nats=127.0.0.1:2", "--password-file=" + dir + "/secret-word",
			},
			health: []string{"/bin/reach", "health", "nats://127.0.0.1:2"},
			ports:  []string{"127.0.0.1:2"},
		},
		{
			name:    "worker",
			command: []string{"/bin/reach", "worker", "-f", dir + "/config-served", "--nats=nats://127.0.0.1:2", "--other=elsewhere:4222"},
			after:   []string{"agent", "broker"},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(service{})); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	served, err := os.ReadFile(filepath.Join(dir, "config-served"))
	if err != nil || string(served) != "url: nats://127.0.0.1:2\nendpoint: http://127.0.0.1:1/run\n" {
		t.Errorf("the worker's file is %q (%v)", served, err)
	}
	if word, err := os.ReadFile(filepath.Join(dir, "secret-word")); err != nil || len(word) < 20 {
		t.Errorf("the secret is %q (%v)", word, err)
	}
}

func TestServicesStartAfterThoseTheyNeed(t *testing.T) {
	t.Parallel()
	all := []service{
		{name: "worker", after: []string{"agent", "broker"}}, {name: "broker"}, {name: "agent", after: []string{"broker"}},
	}
	well := make(map[string]bool)
	var order []string
	for len(all) > 0 {
		var wave []service
		if wave, all = split(all, well); len(wave) == 0 {
			t.Fatalf("%v never start", all)
		}
		for _, s := range wave {
			order = append(order, s.name)
			well[s.name] = true
		}
	}
	if diff := cmp.Diff([]string{"broker", "agent", "worker"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
