package dispatcher_test

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/meaning"
	"github.com/agentreach/agent-reach/schemas"
)

// embeddings serves an endpoint whose vectors tell apart what has to do with looking things up, with reviews, and with anything else.
func embeddings(t *testing.T, away *atomic.Bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct{ Input []string }
		if away.Load() || json.NewDecoder(r.Body).Decode(&question) != nil {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		var data []map[string]any
		for i, text := range question.Input {
			vector := make([]float64, 256)
			own := fnv.New32a()
			_, _ = own.Write([]byte(text))
			vector[2+own.Sum32()%254] = .1 // what has to do with neither has to do with nothing
			for at, words := range []string{"search google internet look up", "review critique pull request"} {
				for word := range strings.FieldsSeq(words) {
					if strings.Contains(strings.ToLower(text), word) {
						vector[at]++
					}
				}
			}
			data = append(data, map[string]any{"index": i, "embedding": vector})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAnIntentIsFoundByItsMeaningWhereItsWordsAreNotKnown(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	ranker, err := meaning.New(meaning.Config{URL: embeddings(t, &away), Model: "m", Client: client, Rest: time.Nanosecond, Timeout: 10 * time.Second})
	check(t, err)
	cfg := quick()
	cfg.Meaning = ranker
	h := newHouse(t, cfg)
	newScripted(h, "finder", offer{"web_search", 100}, offer{"code_review_lite", 100})
	h.routed("routes:\n  - name: quick-reviews\n    match: {intent: review my pull request}\n    target: {capability: code_review_lite}\n")
	ask := func(intent string) (*schemas.Task, error) {
		m := schemas.ReachMessage{Intent: intent, Payload: schemas.Payload(`{"query":"x","diff":"x"}`)}
		return h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	}
	for intent, want := range map[string]string{
		"google it on the internet": "web_search", "critique this pull request": "code_review_lite",
		"web search": "web_search", // by its words: nobody is asked
	} {
		task, err := ask(intent)
		check(t, err)
		if task.Capability != want {
			t.Errorf("%q led to %s, want %s", intent, task.Capability, want)
		}
	}
	task, err := ask("google it on the internet")
	check(t, err)
	trace, err := h.any().Trace(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	var hop struct {
		Rule       string  `json:"rule"`
		Meant      string  `json:"meant"`
		Similarity float64 `json:"similarity"`
	}
	check(t, schemas.Decode(trace.Hops[1].Detail, &hop))
	if hop.Rule != "meaning" || hop.Meant != "web_search" || hop.Similarity < .6 {
		t.Errorf("the hop says %+v", hop)
	}

	_, err = ask("make me a sandwich")
	e := wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownCapability)
	var near []string
	if e.Detail("nearest", &near); len(near) != 3 {
		t.Errorf("nearest are %v", near)
	}

	away.Store(true)
	if task, err := ask("google it on the internet"); err != nil || task.Capability != "web_search" {
		t.Errorf("what is remembered: %+v, %v", task, err)
	}
	_, err = ask("web serch")
	e = wantCode(t, err, schemas.NotFound, schemas.ReasonUnknownCapability)
	if e.Detail("nearest", &near); cmp.Diff([]string{"web_search"}, near) != "" {
		t.Errorf("by words alone the nearest are %v", near)
	}
}
