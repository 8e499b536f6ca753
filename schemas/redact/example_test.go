package redact_test

import (
	"fmt"
	"os"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/schemas/redact"
)

func ExampleMask() {
	fmt.Println(redact.Mask("call 138-0013-8000, id 11010519491231002X, nats://me:secret@host:4222"))
	fmt.Println(redact.Mask(`{"phone": 13800138000, "api_key": "abc", "task": "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"}`))
	// Output:
	// call ***, id ***, nats://***@host:4222
	// {"phone": "***", "api_key": "***", "task": "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"}
}

func ExampleExcerpt() {
	fmt.Println(redact.Excerpt([]byte("\x1b[31mError\x1b[0m: no user jo@example.org\n\tat main.py:7"), 48))
	// Output: Error: no user ***  at main.py:7
}

func ExampleFingerprint() {
	fmt.Println(redact.Fingerprint([]byte(`{"text": "Ships sail.", "max_sentences": 1}`)))
	// Output: object, 43 bytes, 2 fields (1 string, 1 number)
}

func ExampleWriter() {
	log := zerolog.New(redact.Writer(os.Stdout))
	log.Info().Str("agent_id", "laptop-1").Msg("refused token=abc")
	// Output: {"level":"info","agent_id":"laptop-1","message":"refused token=***"}
}
