//go:build unix

package integration

import (
	"testing"

	"github.com/agentreach/agent-reach/schemas"
)

// literals are numbers that become others where they are read as floating point.
var literals = []string{
	"9007199254740993", "9223372036854775807", "18446744073709551615", "-9223372036854775808", "0.1", "0.10", "1.0", "1e2", "1E+2", "-0",
	"-0.0",
	"1234567890123456789012345678901234567890", "3.141592653589793238462643383279502884197", "1e400", "1e-400",
}

func TestNumbersStayWhatTheyWere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.startWorker(child("child", 2, "echo"), h.startHTTPAgent("server", 2, "echo"))
	w := newWitness(t, h.url)
	ways := h.callers()
	for _, agent := range []string{"child", "server"} {
		for _, literal := range literals {
			payload := `{"n":` + literal + `,"list":[` + literal + `]}`
			for _, way := range ways {
				m := ask("echo", payload)
				m.PreferAgent = agent
				task, err := way.submit(t.Context(), schemas.MustEncode(m))
				check(t, err)
				if result := w.result(task.TaskID); string(result.Result) != payload || result.AgentID != agent {
					t.Errorf("%s by %s came out as %s by %s", payload, agent, result.Result, result.AgentID)
				}
				for _, reader := range ways {
					if got, err := reader.get(t.Context(), task.TaskID); err != nil || string(got.Result) != payload {
						t.Errorf("%s by %s is read as %v (%v)", payload, agent, got, err)
					}
				}
			}
		}
	}
}

func TestNumbersThatNobodyCanCarryAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.startWorker(child("child", 2, "echo"))
	for _, literal := range []string{"1e1001", "-1E-1001", "1e99999999999", "01", "+1", "0x10", "NaN", "1."} {
		for _, way := range h.callers() {
			message := []byte(`{"capability":"echo","payload":{"n":` + literal + `}}`)
			task, err := way.submit(t.Context(), message)
			if e := schemas.AsError(err); e == nil || e.Code != schemas.InvalidArgument {
				t.Errorf("%s: got %v, %v", literal, task, err)
			}
		}
	}
}
