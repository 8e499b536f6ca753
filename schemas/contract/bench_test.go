package contract_test

import (
	"testing"

	"github.com/agentreach/agent-reach/schemas/contract"
)

func BenchmarkCheckInput(b *testing.B) {
	schema := compile(b, `{"text":"string","max_sentences":"integer?"}`)
	for name, payload := range map[string]string{
		"fits":         `{"text":"Ships sail. Ships sink. Ships sail again.","max_sentences":1}`,
		"does not fit": `{"text":"Ships sail.","max_sentences":1.5}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				schema.CheckInput("summarize", []byte(payload))
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := contract.Compile([]byte(summarize)); err != nil {
			b.Fatal(err)
		}
	}
}
