package integration

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// Where the pages say that a house answers, and what else of the world they speak of: an agent, a receiver of callbacks, folders.
const (
	pageHTTP     = "http://127.0.0.1:8500"
	pageNATS     = "nats://127.0.0.1:4222"
	pageMQTT     = "mqtt://127.0.0.1:1883"
	pageAgent    = "http://127.0.0.1:9000"
	pageReceiver = "https://example.org"
	pageFolder   = "/var/lib/reach"
)

// places is that world.
type places struct{ agent, receiver, folder string }

func newPlaces(t *testing.T, dir string) places {
	t.Helper()
	serve := func(handler http.HandlerFunc) string {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	return places{agent: serve(summarizes), receiver: serve(receives(dir)), folder: filepath.Join(dir, "var-lib-reach")}
}

// real are pairs for a replacer: what stands on a page, and what is meant.
func (p places) real(r *reader) (pairs []string) {
	pairs = []string{pageAgent, p.agent, pageReceiver, p.receiver, pageFolder, p.folder}
	for shown, real := range map[string]string{pageHTTP: r.http, pageNATS: r.nats, pageMQTT: r.mqtt} {
		if real != "" {
			pairs = append(pairs, shown, real)
		}
	}
	if r.mqtt != "" {
		pairs = append(pairs, "-p 1883", "-p "+r.mqtt[strings.LastIndex(r.mqtt, ":")+1:])
	}
	return pairs
}

// shown are the same pairs the other way round.
func (p places) shown(r *reader) []string {
	pairs := p.real(r)
	for i := 0; i < len(pairs); i += 2 {
		pairs[i], pairs[i+1] = pairs[i+1], pairs[i]
	}
	return append(pairs, "\r", "")
}

// summarizes is an agent that knows nothing of the house.
func summarizes(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.URL.Path == "/run" {
		_, _ = io.WriteString(w, `{"summary":"Ships sail."}`)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// receives takes callbacks: it keeps the last in received.json, and answers with the status in the file receiver-answers, if there
// is one.
func receives(dir string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		headers := make(map[string]string)
		for name := range r.Header {
			headers[strings.ToLower(name)] = r.Header.Get(name)
		}
		kept := schemas.MustEncode(map[string]any{"headers": headers, "body": string(body)})
		path := filepath.Join(dir, "received.json")
		if os.WriteFile(path+".new", kept, 0o600) == nil {
			_ = os.Rename(path+".new", path)
		}
		status := http.StatusOK
		if content, err := os.ReadFile(filepath.Join(dir, "receiver-answers")); err == nil {
			status, _ = strconv.Atoi(strings.TrimSpace(string(content)))
		}
		w.WriteHeader(status)
	}
}

// toolVariable makes the test binary stand in for the nats tool, where that is not installed.
const toolVariable = "REACH_TEST_TOOL"

// runNATS knows `nats req SUBJECT BODY --raw` alone.
func runNATS(args []string) (code int) {
	answer, err := natsRequest(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(answer)
	return 0
}

func natsRequest(args []string) (string, error) {
	if len(args) != 4 || args[0] != "req" || args[3] != "--raw" {
		return "", fmt.Errorf("it knows nats req SUBJECT BODY --raw alone, and not %q", args)
	}
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		return "", err
	}
	defer nc.Close()
	reply, err := nc.Request(args[1], []byte(args[2]), 15*time.Second)
	if err != nil {
		return "", err
	}
	return string(reply.Data), nil
}
