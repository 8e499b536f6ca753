package contract_test

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/contract"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	base := contract.Fingerprint("summarize", schemas.Payload(`{"text":"é/","n":[1,9007199254740993]}`), "standard", "")
	tests := []struct {
		name, intent, payload, qos, callback string
		same                                 bool
	}{
		{"other order and blanks", "summarize", ` { "n" : [1, 9007199254740993], "text" : "é/" } `, "standard", "", true},
		{"other escapes", "summarize", `{"text":"\u00e9\/","n":[1,9007199254740993]}`, "standard", "", true},
		{"the default said or not", "summarize", `{"text":"é/","n":[1,9007199254740993]}`, "", "", true},
		{"another capability", "translate", `{"text":"é/","n":[1,9007199254740993]}`, "standard", "", false},
		{"another quality of service", "summarize", `{"text":"é/","n":[1,9007199254740993]}`, "realtime", "", false},
		{"another callback", "summarize", `{"text":"é/","n":[1,9007199254740993]}`, "standard", "https://x", false},
		{"the neighbour of a number", "summarize", `{"text":"é/","n":[1,9007199254740992]}`, "standard", "", false},
		{"the same number, written otherwise", "summarize", `{"text":"é/","n":[1.0,9007199254740993]}`, "standard", "", false},
		{"items in another order", "summarize", `{"text":"é/","n":[9007199254740993,1]}`, "standard", "", false},
		{"what is not JSON", "summarize", `{`, "standard", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := contract.Fingerprint(tt.intent, schemas.Payload(tt.payload), tt.qos, tt.callback)
			if (got == base) != tt.same || len(got) != 64 {
				t.Errorf("fingerprint %s, base %s", got, base)
			}
		})
	}
}

func TestFingerprintOfNothing(t *testing.T) {
	t.Parallel()
	if contract.Fingerprint("echo", nil, "", "") != contract.Fingerprint("echo", schemas.Payload(`{ }`), "standard", "") {
		t.Error("an absent payload is not {}")
	}
}

// Fields do not run into each other.
func TestFingerprintKeepsFieldsApart(t *testing.T) {
	t.Parallel()
	if contract.Fingerprint("a", schemas.Payload(`1`), "b", "c") == contract.Fingerprint("a", schemas.Payload(`1`), "bc", "") {
		t.Error("quality of service and callback run into each other")
	}
}

// A long string counts by what it stands for, however it is escaped and however long the rest is.
func TestFingerprintOfLongStrings(t *testing.T) {
	t.Parallel()
	said := func(text string) string {
		return contract.Fingerprint("echo", schemas.Payload(`{"b":1,"text":"`+text+`"}`), "", "")
	}
	for _, n := range []int{500, 511, 512, 513, 600, 40_000} {
		plain := said(strings.Repeat("ä", n))
		if plain != said(strings.Repeat(`\u00e4`, n)) || plain != said(strings.Repeat(`ä\u00E4`, n/2)+strings.Repeat("ä", n%2)) {
			t.Errorf("%d characters count otherwise when they are escaped", n)
		}
		if plain == said(strings.Repeat("ä", n-1)+"b") || plain == said(strings.Repeat("ä", n)+"b") {
			t.Errorf("of %d characters the last does not count", n)
		}
	}
}
