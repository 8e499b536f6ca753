package mqttfront_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// ordinary are the topics of the house, as a client of MQTT sees them.
var ordinary = regexp.MustCompile(`^reach/(api/[a-z]+/[a-z]+|v1/phone(/in)?/[a-z]+|[a-z]+(/[a-z0-9_-]+){1,4})$`)

// A device of a name that is no name is not heard, whatever its name means elsewhere; nothing is ever published that is made of it, and
// others do not notice.
func TestNamesOfDevicesAreNoPatterns(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	p := newPhone(h, "phone")
	strange := []string{">", "*", "a.b", "a..b", "A", "-", "a_b", "é", "..%2f..", "%3E", "$JS.API.STREAM.LIST", "_INBOX.x", strings.Repeat("a", 64), "<b>", "a b", ""}
	said := make(map[string]bool)
	for _, name := range strange {
		for _, verb := range []string{"submit", "register", "hello", "in/task"} {
			said["reach/v1/"+name+"/"+verb] = true
		}
	}
	var mu sync.Mutex
	heard := 0
	tap := dial(t, h, "tap")
	token := tap.Subscribe("reach/#", 0, func(_ mqtt.Client, m mqtt.Message) {
		mu.Lock()
		defer mu.Unlock()
		heard++
		if !ordinary.MatchString(m.Topic()) && !said[m.Topic()] {
			t.Errorf("somebody has published on %q", m.Topic())
		}
	})
	if token.WaitTimeout(10*time.Second) && token.Error() != nil {
		t.Fatal(token.Error())
	}
	clients := 0
	for topic := range said {
		clients++
		client := dial(t, h, fmt.Sprintf("strange-%d", clients)) // the broker may end its connection, and is wary of an id that is soon back
		client.Publish(topic, 1, false, `{"msg_id":"a","capability":"echo","capabilities":["echo"]}`).WaitTimeout(200 * time.Millisecond)
		client.Disconnect(0)
	}
	p.publish("nonsense", `{}`) // what was said before has been heard when this is answered
	brokertest.Eventually(t, "a device of a legal name is answered", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.errors["nonsense"] != nil
	})
	agents, err := h.any().ListAgents(t.Context(), schemas.AgentQuery{})
	check(t, err)
	if len(agents.Items) > 0 {
		t.Errorf("registered: %+v", agents.Items)
	}
	brokertest.Eventually(t, "the tap hears", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return heard > 0
	})
}

// dial connects a client that does nothing by itself.
func dial(t *testing.T, h *house, id string) mqtt.Client {
	t.Helper()
	client := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://" + h.broker.MQTT()).SetClientID(id).SetAutoReconnect(false).
		SetConnectTimeout(5 * time.Second))
	if token := client.Connect(); token.WaitTimeout(10*time.Second) && token.Error() != nil {
		t.Fatal(token.Error())
	}
	t.Cleanup(func() { client.Disconnect(0) })
	return client
}
