package natscontext_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/cmd/internal/natscontext"
)

// asWritten is a file as `nats context save` writes it: every member is there, most of them empty.
const asWritten = `{"description":"the lab","url":"nats://lab:4222","socks_proxy":"","token":"","user":"me","password":"pw","creds":"",
"nkey":"","cert":"","key":"","ca":"","nsc":"","jetstream_domain":"","jetstream_api_prefix":"","jetstream_event_prefix":"",
"inbox_prefix":"_INBOX_me","user_jwt":"","color_scheme":"","tls_first":false}`

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"context/lab.json":  asWritten,
		"context/key.json":  `{"url":"nats://a:4222","nkey":"/n"}`,
		"context/tls.json":  `{"url":"nats://a:4222","tls_first":true}`,
		"context/text.json": `marker`,
	})
	for _, tt := range []struct {
		name, context string
		want          *natscontext.Context
		refusal       string
	}{
		{
			"as the nats tool writes it", "lab",
			&natscontext.Context{Name: "lab", URL: "nats://lab:4222", User: "me", Password: "pw", InboxPrefix: "_INBOX_me"}, "",
		},
		{"one that needs what reach cannot do", "key", nil, `has "nkey", which reach does not support`},
		{"one that wants TLS at once", "tls", nil, `has "tls_first"`},
		{"no JSON", "text", nil, "text.json is not a nats context"},
		{"one that is not there", "home", nil, `there is no nats context "home"; there are key, lab, text, tls`},
		{"a path", "../../etc/passwd", nil, "not the name of a nats context"},
		{"the empty name", "", nil, "not the name of a nats context"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := natscontext.Load(dir, tt.context)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (tt.refusal == "") || err != nil && !strings.Contains(err.Error(), tt.refusal) {
				t.Errorf("got %v, want %q", err, tt.refusal)
			}
			if err != nil && strings.Contains(err.Error(), "marker") {
				t.Errorf("the error quotes the file: %v", err)
			}
		})
	}
}

func TestSelected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
		ok    bool
	}{
		{"the nats tool was never used", nil, "", true},
		{"none is selected", map[string]string{"context.txt": "\n"}, "", true},
		{"one is selected", map[string]string{"context.txt": "lab\n", "context/lab.json": asWritten}, "nats://lab:4222", true},
		{"one is selected that is gone", map[string]string{"context.txt": "lab"}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := natscontext.Selected(folder(t, tt.files))
			if (err == nil) != tt.ok {
				t.Fatal(err)
			}
			if url := urlOf(got); url != tt.want {
				t.Errorf("got %q, want %q", url, tt.want)
			}
		})
	}
}

func urlOf(c *natscontext.Context) string {
	if c == nil {
		return ""
	}
	return c.URL
}

func TestDir(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HOME": "/home/me"}
	getenv := func(name string) string { return env[name] }
	if got := natscontext.Dir(getenv); got != "/home/me/.config/nats" {
		t.Error(got)
	}
	env["XDG_CONFIG_HOME"] = "/xdg"
	if got := natscontext.Dir(getenv); got != "/xdg/nats" {
		t.Error(got)
	}
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
