package exit_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/exit"
	"github.com/agentreach/agent-reach/schemas"
)

func TestCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"all went well", nil, 0},
		{"a command line that is not understood", exit.UsageError("no"), 2},
		{"what the command has told already", exit.Said(exit.WaitEnded), 4},
		{"a failure on this machine", errors.New("port taken"), 1},
		{"an error within others", fmt.Errorf("a: %w", schemas.NewError(schemas.NotFound, "", "b")), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := exit.Code(tt.err); got != tt.want {
				t.Errorf("Code(%v) = %d, want %d", tt.err, got, tt.want)
			}
		})
	}
}

func TestEveryErrorCodeHasAnExitCode(t *testing.T) {
	t.Parallel()
	want := map[schemas.Code]int{schemas.InvalidArgument: 2, schemas.NotFound: 2, schemas.Unavailable: 3}
	for _, code := range schemas.Codes {
		got := exit.Code(schemas.NewError(code, "", "no"))
		if expected := max(want[code], exit.Failed); got != expected {
			t.Errorf("%s ends in %d, want %d", code, got, expected)
		}
	}
}
