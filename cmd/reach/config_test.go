package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

func TestEveryFileThatTheConfigurationNamesIsChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("routes.yaml", "routes:\n  - name: a\n    match: {intend: x}\n    target: {capability: echo}\n")
	write("secret", "whsec_short\n")
	file := write("reach.yaml", "dictionary: {files: [nowhere.yaml]}\nrouter: {routes: routes.yaml}\ncallbacks: {secret_file: secret}\n"+
		"broker: {user: me, password_file: no-password}\nlog: {levl: info}\nlimits: {schedules: 0}\n")
	for _, command := range []string{"config check --log-level", "up --http", "dispatcher --http"} { // whoever reads it tells all of it at once
		code, _, stderr := commandLine(t, []string{"REACH_SERVER_PORT=many"}, append(strings.Fields(command), "nowhere", "-c", file)...)
		if code != 2 {
			t.Errorf("%s: exit code %d", command, code)
		}
		_, flag, _ := strings.Cut(command, "--")
		for _, want := range []string{
			"dictionary.files (" + file + ":1): ", "nowhere.yaml", "router.routes (" + file + ":2): ", `"intend" is not known here`,
			"callbacks.secret_file (" + file + ":3): ", "broker.password_file (" + file + ":4): ", file + `:5: "log.levl" is not a setting`,
			file + ":6: limits.schedules must be above 0", "REACH_SERVER_PORT: server.port takes a whole number", "--" + flag,
		} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: %s is not told of in\n%s", command, want, stderr)
			}
		}
	}
}

func TestWhatBecameOfAnEntry(t *testing.T) {
	t.Parallel()
	before := []schemas.Capability{{ID: "echo"}, {ID: "shout", Description: "Shout."}}
	for want, entry := range map[string]schemas.Capability{
		"added": {ID: "whisper"}, "unchanged": {ID: "shout", Description: "Shout."}, "replaced": {ID: "shout", Description: "Shout louder."},
	} {
		if got := became(before, &entry); got != want {
			t.Errorf("%+v is %s, want %s", entry, got, want)
		}
	}
}

func TestAFailureSaysWhatTheAgentSaid(t *testing.T) {
	t.Parallel()
	task := &schemas.Task{
		TaskID: "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10",
		Error:  schemas.NewError(schemas.Internal, "", "the agent exited with 3").With("stderr", "KeyError: 'text'"),
	}
	const want = "error: INTERNAL: the agent exited with 3 (reach task get 01a226bf-4900-7b1e-9d54-0f6a3f1f8a10)\n" +
		"       the agent said: KeyError: 'text'"
	if got := failureOf(task); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
