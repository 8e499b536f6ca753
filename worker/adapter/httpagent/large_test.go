package httpagent_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/httpagent"
)

// A large payload goes out as it lies, and a large answer is held once, whether its size is announced or not.
func TestLargeBodiesAreHeldOnce(t *testing.T) {
	const size, besides = 6 << 20, 5 << 20
	body := `"` + strings.Repeat("x", size-2) + `"`
	var announced bool
	server := adaptertest.Serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.Copy(io.Discard, r.Body)
		if got < size {
			http.Error(w, "that is not all", http.StatusBadRequest)
			return
		}
		head, tail := "", ""
		if r.URL.Path != "/payload" {
			head, tail = `{"result":`, `}`
		}
		if announced {
			w.Header().Set("Content-Length", lengthOf(head, body, tail))
		}
		for _, piece := range []string{head, body, tail} {
			_, _ = io.WriteString(w, piece)
		}
	})
	for input, says := range map[httpagent.Input]bool{httpagent.InputPayload: true, httpagent.InputMessage: false, httpagent.InputExecute: true} {
		announced = says
		agent := newAgent(t, httpagent.Config{Endpoint: server.URL + "/" + string(input), Input: input})
		task := adaptertest.NewTask([]byte(body))
		taken := adaptertest.Taken(func() {
			result, err := agent.Handle(t.Context(), task, new(adaptertest.Recorder))
			if err != nil || len(result) != size {
				t.Errorf("%s: %d bytes, %v", input, len(result), err)
			}
		})
		if taken > size+besides {
			t.Errorf("%s: bodies of %d bytes took %d", input, size, taken)
		}
	}
}

func lengthOf(texts ...string) string {
	length := 0
	for _, text := range texts {
		length += len(text)
	}
	return strconv.Itoa(length)
}
