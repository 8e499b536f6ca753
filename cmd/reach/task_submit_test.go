package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/schemas"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestSubmission(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "note.json")
	writeFile(t, file, "{\"n\": 1.0}\n")
	for _, tt := range []struct {
		name, args, want string
	}{
		{"a capability alone", "echo", `{"v":1,"capability":"echo","payload":{}}`},
		{"a payload, as written", `echo -d {"n":[1.0,1e2]}`, `{"v":1,"capability":"echo","payload":{"n":[1.0,1e2]}}`},
		{"a payload from a file", "echo -d @" + file, `{"v":1,"capability":"echo","payload":{"n":1.0}}`},
		{"a payload from standard input", "echo -d -", `{"v":1,"capability":"echo","payload":{"from":"stdin"}}`},
		{"an intent in place of a capability", "--intent count-words", `{"v":1,"intent":"count-words","payload":{}}`},
		{"an intent written together", "--intent=count-words", `{"v":1,"intent":"count-words","payload":{}}`},
		{"a wait without a time", "echo --wait", `{"v":1,"capability":"echo","payload":{}}`},
		{"a wait with a time", "echo --wait=30s", `{"v":1,"capability":"echo","payload":{},"timeout_ms":30000}`},
		{"a wait with a time after a blank", "echo --wait 1.5s", `{"v":1,"capability":"echo","payload":{},"timeout_ms":1500}`},
		{"the same before the capability", "--wait 30s echo", `{"v":1,"capability":"echo","payload":{},"timeout_ms":30000}`},
		{
			"everything", "echo --msg-id k --prefer-agent a --priority 0 --tag x --tag y,z --expires-in 1h --run-timeout 2s --qos complete",
			`{"v":1,"msg_id":"k","capability":"echo","payload":{},"run_timeout_ms":2000,"expires_at":"2026-11-29T13:00:00.000Z",` +
				`"priority":0,"prefer_agent":"a","tags":["x","y,z"],"quality_of_service":"complete"}`,
		},
		{
			"what to do where no agent is free", "echo --wait-for-agent --fail-fast",
			`{"v":1,"capability":"echo","payload":{},"wait_for_agent":true,"fail_fast":true}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := submissionOf(tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(schemas.MustEncode(&s.message))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefusedSubmissions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args, want string }{
		{"no capability", "", "give one CAPABILITY"},
		{"two capabilities", "echo text_stats", "give one CAPABILITY"},
		{"a capability and an intent", "echo --intent=count", "give one CAPABILITY"},
		{"a capability that is a pattern", "a.>", "capability takes"},
		{"no JSON", "echo -d {bad", "-d: not valid JSON"},
		{"a member twice", `echo -d {"a":1,"a":2}`, "-d: "},
		{"a number that no validator can take", "echo -d 1e9999", "-d: "},
		{"a file that is not there", "echo -d @/nowhere/x.json", "no such file"},
		{"a wait that is no time", "echo --wait=soon", "--wait takes a time such as 30s"},
		{"a wait without a unit", "echo --wait 30", "--wait takes a time such as 30s"},
		{"a wait of nothing", "echo --wait=0s", "--wait takes a time such as 30s"},
		{"an end in the past", "echo --expires-in -1s", "--expires-in takes a time above 0"},
		{"a key of nothing", "echo --msg-id=", "--msg-id takes a value"},
		{"an agent that is a pattern", "echo --prefer-agent *", "agent_id takes"},
		{"a priority out of range", "echo --priority 10", "priority takes"},
		{"a quality that does not exist", "echo --qos best", "quality_of_service takes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := submissionOf(tt.args)
			if exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// submissionOf parses words as the command line of a submit at noon.
func submissionOf(words string) (*submission, error) {
	s := new(submission)
	flags := pflag.NewFlagSet("submit", pflag.ContinueOnError)
	s.flags(flags)
	s.wait.flag(flags)
	if err := flags.Parse(strings.Fields(words)); err != nil {
		return nil, err
	}
	return s, s.prepare(flags, flags.Args(), strings.NewReader(`{"from":"stdin"}`), noon)
}
