package webhook_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/webhook"
)

const (
	newSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	oldSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

func mustParse(t testing.TB, text string) webhook.Secrets {
	t.Helper()
	secrets, err := webhook.ParseSecrets(text)
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// privateKey is an Ed25519 key that everybody knows.
func privateKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
}

func asymmetricSecret() string { return "whsk_" + base64.StdEncoding.EncodeToString(privateKey()) }

func TestParseSecrets(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, problem string }{
		{"one", newSecret, ""},
		{"two, with a comment and blanks", "# the new one\n" + newSecret + "\r\n\n  " + oldSecret + "  \n", ""},
		{"an Ed25519 key", asymmetricSecret(), ""},
		{"the seed of one", "whsk_" + base64.StdEncoding.EncodeToString(privateKey().Seed()), ""},
		{"nothing", "\n# nothing\n", "there is no secret"},
		{"too short", "whsec_c2hvcnQ=", "line 1: after whsec_ stands the base64 of 24 to 64 bytes"},
		{"too long", "whsec_" + strings.Repeat("QUFB", 22), "24 to 64 bytes"},
		{"no base64", newSecret + "\nwhsec_MARKER*", "line 2: after whsec_"},
		{"a password", "MARKER-hunter2", "line 1: a secret begins with whsec_ or whsk_"},
		{"half an Ed25519 key", "whsk_QUFB", "base64 of an Ed25519 key"},
		{"too many", strings.Repeat(newSecret+"\n", 9), "at most 8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := webhook.ParseSecrets(tt.text)
			if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
			if err != nil && strings.Contains(err.Error(), "MARKER") {
				t.Errorf("the secret is quoted: %v", err)
			}
		})
	}
}
