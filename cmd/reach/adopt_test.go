package main

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/schemas"
)

// An agent without a worker is told at its registration what is wrong with it: whatever is accepted can be driven, and nobody has to look
// into the log of whoever adopts.
func TestWhatIsAcceptedCanBeDriven(t *testing.T) {
	t.Parallel()
	settings, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, kind := range []string{"http", "sse", "websocket", "grpc", "subprocess", "mcp", "openai", "a2a", "", "pigeon"} {
		for _, endpoint := range []string{
			"http://127.0.0.1:9000/run", "https://agent.example", "ws://127.0.0.1:9000/agent", "wss://agent.example/a?b=c", "127.0.0.1:9000", "", "nowhere",
			"http://", "http://:9000/run", "http://[::1]:9000", "HTTP://UPPER.example/", "http://h/#part", "http://h:99999/run", "http://h:port/run", "http://%zz/",
			"http://u@h/", "ftp://h/", "http://h/a b",
		} {
			for _, health := range []string{"", "http://127.0.0.1:9000/healthz", "ws://h/health", "nowhere", "http://h:99999/", "https://h/#part"} {
				for _, input := range []string{"", "payload", "message", "execute", "everything"} {
					r := &schemas.Registration{
						AgentID: "agent", Version: "1.0.0", Adopt: true, Capabilities: []schemas.Offer{{ID: "echo"}},
						Transport: schemas.Transport{Type: kind, Endpoint: endpoint, HealthCheck: health, Input: input},
					}
					if r.Check() != nil {
						continue
					}
					accepted++
					agent, err := drive(r, settings, zerolog.Nop())
					if err != nil {
						t.Errorf("%+v is accepted, and cannot be driven: %v", r.Transport, err)
						continue
					}
					agent.Close()
				}
			}
		}
	}
	if accepted < 20 {
		t.Errorf("only %d registrations were accepted", accepted)
	}
}
