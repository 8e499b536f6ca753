package embedded_test

import (
	"context"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker/embedded"
)

func ExampleStart() {
	dir, _ := os.MkdirTemp("", "reach")
	defer os.RemoveAll(dir)

	server, err := embedded.Start(context.Background(), embedded.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	nc, err := nats.Connect("", nats.InProcessServer(server))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nc.Close()
	fmt.Println(nc.ConnectedServerName())
	// Output: reach
}
