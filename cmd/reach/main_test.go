package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// commandLine runs one command line as a process of its own would, where nobody watches.
func commandLine(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs, environ: environ,
		terminal: func(any) bool { return false },
	}
	code = a.run(t.Context(), args)
	return code, out.String(), errs.String()
}
