// Reviewdiff is a small agent that knows nothing of Agent-Reach but its one line: it reads {"diff": "…"} from stdin and prints
// {"findings": [{"severity", "message", "file", "line"}]}. It looks only at what a diff adds.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reviewdiff:", err)
		os.Exit(1)
	}
}

type request struct {
	Diff string `json:"diff"`
}

type response struct {
	Findings []Finding `json:"findings"`
}

// problem is an error as agents report it.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// run answers one request. What is wrong with it is said in the answer, too.
func run(from io.Reader, to io.Writer) error {
	var req request
	err := json.NewDecoder(from).Decode(&req)
	if err == nil && req.Diff == "" {
		err = errors.New("diff is empty")
	}
	if err != nil {
		refusal := map[string]problem{"error": {"INVALID_ARGUMENT", "the input is not an object with a diff"}}
		return errors.Join(fmt.Errorf("read request: %w", err), json.NewEncoder(to).Encode(refusal))
	}
	return json.NewEncoder(to).Encode(response{Review(req.Diff)})
}
