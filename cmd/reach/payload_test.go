package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPayloadThatIsNoJSONSaysWhatToDo(t *testing.T) {
	t.Parallel()
	recording := filepath.Join(t.TempDir(), "talk.mp3")
	if err := os.WriteFile(recording, []byte("ID3\x04\x00\xff\xfb\x90"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, data, want string }{
		{"text", "hello world", `put text in quotes`},
		{"a recording", "@" + recording, `base64`},
		{"an object with a fault", `{"text":}`, ""},
	}
	for _, tt := range tests {
		_, err := readPayload(tt.data, strings.NewReader(""))
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.want == "" && strings.Contains(err.Error(), "a payload is JSON") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
