package schemas_test

import (
	"fmt"

	"github.com/agentreach/agent-reach/schemas"
)

func ExampleAccept() {
	var message schemas.ReachMessage
	err := schemas.Accept([]byte(`{"capability": "echo", "payload": {"id": 9007199254740993, "ratio": 1.0}, "newer": true}`), &message)
	fmt.Println(err, message.Payload)
	fmt.Println(string(schemas.MustEncode(&message)))

	err = schemas.Accept([]byte(`{"capability": "echo", "timeout_ms": "soon"}`), &message)
	fmt.Println(string(schemas.MustEncode(schemas.AsError(err).Details)))
	// Output:
	// <nil> payload(object, 38 bytes)
	// {"v":1,"capability":"echo","payload":{"id":9007199254740993,"ratio":1.0},"newer":true}
	// {"expected":"an integer of at most 64 bits","field":"/timeout_ms"}
}

func ExampleNewError() {
	problem := schemas.NewError(schemas.Unavailable, schemas.ReasonNoAgent, "no agent for %s is online", "summarize").
		With("nearest", "translate")
	fmt.Println(problem)
	fmt.Println(string(schemas.MustEncode(problem)))
	// Output:
	// UNAVAILABLE: no agent for summarize is online
	// {"code":"UNAVAILABLE","reason":"NO_AGENT_ONLINE","message":"no agent for summarize is online","retryable":true,"details":{"nearest":"translate"}}
}

func ExampleSchemaFile() {
	file, found := schemas.SchemaFile("credit")
	fmt.Println(found, len(file) > 0)
	fmt.Println(schemas.SchemaNames()[:3])
	// Output:
	// true true
	// [add_capability add_schedule agent]
}
