package dispatcher_test

import (
	"testing"

	"github.com/agentreach/agent-reach/broker/brokertest"
)

func TestMain(m *testing.M) { brokertest.Main(m) }
