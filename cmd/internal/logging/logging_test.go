package logging_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/config"
	"github.com/agentreach/agent-reach/cmd/internal/logging"
)

func TestForms(t *testing.T) {
	t.Parallel()
	const (
		inJSON    = `^\{"level":"info","agent_id":"a","time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","message":"hello"\}\n$`
		onConsole = `^\d\d:\d\d:\d\d INF hello agent_id=a\n$`
	)
	for _, tt := range []struct {
		name, format string
		terminal     bool
		want         string
	}{
		{"JSON where no person watches", "auto", false, inJSON},
		{"JSON on a terminal, as asked for", "json", true, inJSON},
		{"lines in a file, as asked for", "console", false, onConsole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := logging.New(&out, tt.terminal, config.Log{Level: "info", Format: tt.format})
			log.Info().Str("agent_id", "a").Msg("hello")
			log.Debug().Msg("not this")
			if !regexp.MustCompile(tt.want).MatchString(out.String()) {
				t.Errorf("got %q, want %s", out.String(), tt.want)
			}
		})
	}
}

func TestATerminalGetsColours(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logging.New(&out, true, config.Log{Level: "info", Format: "auto"})
	log.Info().Msg("hello")
	if !strings.Contains(out.String(), "\x1b[") {
		t.Errorf("got %q", out.String())
	}
}

func TestPersonalDataIsMaskedAtEveryLevelAndInEveryForm(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "console"} {
		var out bytes.Buffer
		log := logging.New(&out, false, config.Log{Level: "debug", Format: format})
		log.Debug().Str("said", "write to marker@example.org").Msg("call marker@example.org")
		if strings.Contains(out.String(), "marker@example.org") {
			t.Errorf("%s: got %q", format, out.String())
		}
	}
}
