package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/dispatcher/client"
)

func TestClientConfig(t *testing.T) {
	t.Parallel()
	const (
		lab  = `{"url":"nats://lab:4222","user":"me","password":"pw"}`
		bare = `{"url":"","creds":"/c"}`
	)
	for _, tt := range []struct {
		name     string
		target   target
		env      map[string]string
		selected string
		want     client.Config
	}{
		{"nobody names a broker", target{}, nil, "", client.Config{URL: defaultURL}},
		{
			"the selected context",
			target{},
			nil, "lab",
			client.Config{URL: "nats://lab:4222", User: "me", Password: "pw"},
		},
		{
			"REACH_URL takes the place of the selected context, credentials and all",
			target{},
			map[string]string{"REACH_URL": "nats://env:4222"},
			"lab",
			client.Config{URL: "nats://env:4222"},
		},
		{
			"a named context beats REACH_URL",
			target{context: "lab"},
			map[string]string{"REACH_URL": "nats://env:4222"},
			"",
			client.Config{URL: "nats://lab:4222", User: "me", Password: "pw"},
		},
		{
			"--server beats all",
			target{server: "nats://flag:4222"},
			map[string]string{"REACH_URL": "nats://env:4222"},
			"lab",
			client.Config{URL: "nats://flag:4222"},
		},
		{
			"--server beside --context keeps the context's credentials",
			target{server: "flag:4222", context: "lab"},
			nil, "",
			client.Config{URL: "flag:4222", User: "me", Password: "pw"},
		},
		{"a context without a URL", target{context: "bare"}, nil, "", client.Config{URL: defaultURL, CredsFile: "/c"}},
		{
			"--creds beats the context's",
			target{context: "bare", creds: "/mine"},
			nil, "",
			client.Config{URL: defaultURL, CredsFile: "/mine"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := natsFolder(t, tt.selected, map[string]string{"lab": lab, "bare": bare})
			got, err := tt.target.clientConfig(func(name string) string {
				if name == "XDG_CONFIG_HOME" {
					return dir
				}
				return tt.env[name]
			})
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Name = got.Name
			if diff := cmp.Diff(shownConfig(tt.want), shownConfig(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// shownConfig are the fields that a target decides.
func shownConfig(c client.Config) [6]string {
	return [6]string{c.URL, c.User, c.Password, c.Token, c.CredsFile, c.InboxPrefix}
}

func TestRefusedTargets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		target target
	}{
		{"a context that is not there", target{context: "home"}},
		{"no URL", target{server: "http://me:marker@broker"}},
		{"a URL that does not parse", target{server: "nats://me:mar%ker@broker"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.target.clientConfig(func(string) string { return "/nowhere" })
			if exit.Code(err) != exit.Usage {
				t.Errorf("got %v", err)
			}
			if strings.Contains(err.Error(), "mar") {
				t.Errorf("the error quotes the password: %v", err)
			}
		})
	}
}

func natsFolder(t *testing.T, selected string, contexts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	folder := filepath.Join(dir, "nats", "context")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range contexts {
		writeFile(t, filepath.Join(folder, name+".json"), content)
	}
	writeFile(t, filepath.Join(dir, "nats", "context.txt"), selected)
	return dir
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
