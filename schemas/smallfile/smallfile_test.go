package smallfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/schemas/smallfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRead(t *testing.T) {
	t.Parallel()
	const most = 8
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name, path, want string
		refused          bool
	}{
		{"an empty file", write(""), "", false},
		{"as much as there may be", write("12345678"), "12345678", false},
		{"one byte more", write("123456789"), "more than 8 bytes", true},
		{"a device without end", "/dev/zero", "more than 8 bytes", true},
		{"a folder", t.TempDir(), "is a directory", true},
		{"nothing", filepath.Join(t.TempDir(), "none"), "no such file", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content, err := smallfile.Read(tt.path, most)
			if tt.refused && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if !tt.refused && (err != nil || string(content) != tt.want) {
				t.Errorf("got %q, %v", content, err)
			}
		})
	}
}
