package dispatcher_test

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/schemas"
)

func shout(description string) schemas.Capability {
	return schemas.Capability{
		ID: "shout", Description: description, InputSchema: []byte(`{"text":"string"}`), OutputSchema: []byte(`{"text":"string"}`), Aliases: []string{"cry"},
	}
}

func TestAChangeOfTheDictionaryIsEveryDispatchersAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick(), quick())
	one, two := h.dispatchers[0], h.dispatchers[1]
	says := func(d *running, want string) func() bool {
		return func() bool {
			entry, err := d.Capability(t.Context(), "shout")
			return err == nil && entry.Description == want
		}
	}
	_, err := one.AddCapability(t.Context(), &schemas.AddCapability{Capability: shout("Say it.")})
	check(t, err)
	brokertest.Eventually(t, "what one has added the other knows", says(two, "Say it."))
	_, err = two.AddCapability(t.Context(), &schemas.AddCapability{Capability: shout("Say it louder.")})
	wantCode(t, err, schemas.AlreadyExists, "CAPABILITY_EXISTS")
	_, err = two.AddCapability(t.Context(), &schemas.AddCapability{Capability: shout("Say it louder."), Replace: true})
	check(t, err)
	brokertest.Eventually(t, "what the other has replaced the first knows", says(one, "Say it louder."))

	// An agent that registers anywhere, and a caller's other word for it, find it as well.
	newScripted(h, "laptop-1", offer{"shout", 1})
	m := schemas.ReachMessage{Intent: "Cry", Payload: schemas.Payload(`{"text":"x"}`)}
	if task := h.submit(m); task.Capability != "shout" {
		t.Errorf("the alias leads to %s", task.Capability)
	}
	_, err = one.Register(t.Context(), &schemas.Registration{
		AgentID: "laptop-2", InstanceID: "1", Version: "1.0.0", Transport: schemas.Transport{Type: "func"}, Capabilities: []schemas.Offer{{ID: "cry"}},
	})
	if e := wantCode(t, err, schemas.InvalidArgument, ""); !strings.Contains(e.Message, "shout") {
		t.Errorf("a registration by an alias: %v", e)
	}
}

// A file adds what is not there. One that says something else of what is stored would be believed by this dispatcher alone: it does not start.
func TestAFileOnlyAddsToTheDictionary(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.Capabilities = []schemas.Capability{shout("Say it.")}
	h := newHouse(t, cfg)
	h.start(cfg).stop() // the same file once more
	cfg.Capabilities = []schemas.Capability{shout("Say it louder.")}
	d, err := dispatcher.New(h.broker.Conn(t), cfg)
	check(t, err)
	if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "capability shout differs from the stored one: change it with reach capability add --replace") {
		t.Errorf("it starts with another file: %v", err)
	}
	if entry, err := h.any().Capability(t.Context(), "shout"); err != nil || entry.Description != "Say it." {
		t.Errorf("stored is %+v, %v", entry, err)
	}
}
