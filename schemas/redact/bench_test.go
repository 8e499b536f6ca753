package redact_test

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas/redact"
)

func BenchmarkMask(b *testing.B) {
	const task = "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"
	for name, text := range map[string]string{
		"log line":      `{"level":"info","task_id":"` + task + `","agent_id":"laptop-1","attempt":1,"time":"2026-11-29T10:00:00Z","message":"assigned"}`,
		"masked line":   `{"level":"info","task_id":"` + task + `","token":"abc","message":"refused 13800138000"}`,
		"text of 64 kB": strings.Repeat("the quick brown fox, 4711 times; ", 2000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				redact.Mask(text)
			}
		})
	}
}
