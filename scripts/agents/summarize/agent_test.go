package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheAgentAnswers(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects")
	server := httptest.NewServer((&agent{effects: effects}).routes())
	t.Cleanup(server.Close)
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"a summary", `{"text":"Ships sail. Ships sink. Ships sail again.","max_sentences":1}`, 200, `{"summary":"Ships sail."}`},
		{"three sentences when none are asked for", `{"text":"A b. C d. E f. G h."}`, 200, `{"summary":"A b. C d. E f."}`},
		{"a number with a point", `{"text":"A b. C d.","max_sentences":1.0}`, 200, `{"summary":"A b."}`},
		{"no text", `{"max_sentences":1}`, 400, `{"error":{"code":"INVALID_ARGUMENT","message":"text is empty"}}`},
		{
			"no sentences", `{"text":"A.","max_sentences":0}`, 400,
			`{"error":{"code":"INVALID_ARGUMENT","message":"max_sentences is less than 1"}}`,
		},
		{
			"no JSON", `text=A`, 400,
			`{"error":{"code":"INVALID_ARGUMENT","message":"the body is not an object with text and max_sentences"}}`,
		},
		{
			"too much", `{"text":"` + strings.Repeat("x", maxBody) + `"}`, 413,
			`{"error":{"code":"RESOURCE_EXHAUSTED","message":"the body is larger than 16777216 bytes"}}`,
		},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/run", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Reach-Task-Id", "task-of-"+tt.name)
		status, body := send(t, req)
		if status != tt.status || body != tt.want+"\n" {
			t.Errorf("%s: got %d %s", tt.name, status, body)
		}
	}
	noted, err := os.ReadFile(effects)
	want := "task-of-a summary\ntask-of-three sentences when none are asked for\ntask-of-a number with a point\n"
	if err != nil || string(noted) != want {
		t.Errorf("effects are %q, %v", noted, err)
	}
}

func TestItIsWell(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer((&agent{}).routes())
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := send(t, req); status != http.StatusNoContent {
		t.Errorf("got %d", status)
	}
}

func send(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
