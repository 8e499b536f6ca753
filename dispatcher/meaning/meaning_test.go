package meaning_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/dispatcher/meaning"
)

// endpoint answers as an embeddings API does: a text's vector counts the words of each of a few subjects in it.
type endpoint struct {
	*httptest.Server
	asked   atomic.Int64 // requests
	texts   atomic.Int64
	failing atomic.Bool
	slow    chan struct{} // closed: it answers; nil: at once
}

var subjects = [][]string{{"search", "find", "web", "pages"}, {"summary", "summarize", "shorten", "brief"}, {"weather", "rain"}}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := new(endpoint)
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	e.asked.Add(1)
	if e.slow != nil {
		select {
		case <-e.slow:
		case <-r.Context().Done():
			return
		}
	}
	var question struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil || question.Model != "small" || r.URL.Path != "/v1/embeddings" {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	if e.failing.Load() {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	type datum struct {
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	var data []datum
	for i, text := range question.Input {
		e.texts.Add(1)
		data = append([]datum{{i, vectorOf(text)}}, data...) // in any order
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "model": question.Model})
}

func vectorOf(text string) []float64 {
	vector := make([]float64, len(subjects)+1)
	vector[len(subjects)] = .1 // no text is nothing at all
	for i, words := range subjects {
		for _, word := range words {
			if strings.Contains(strings.ToLower(text), word) {
				vector[i]++
			}
		}
	}
	return vector
}

func newRanker(t *testing.T, e *endpoint, change func(*meaning.Config)) *meaning.Ranker {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	cfg := meaning.Config{URL: e.URL + "/v1", Model: "small", Timeout: 10 * time.Second, Client: client}
	if change != nil {
		change(&cfg)
	}
	r, err := meaning.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var candidates = []meaning.Candidate{
	{Name: "summarize", Text: "summarize. Shorten a text to what matters."},
	{Name: "web_search", Text: "web search. Find pages on the web."},
	{Name: "forecast", Text: "Tell the weather."},
}

func names(ranked []meaning.Ranked) (all []string) {
	for _, r := range ranked {
		all = append(all, r.Name)
	}
	return all
}

func TestTheNearestInMeaningComesFirstAndIsAskedOnce(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	r := newRanker(t, e, nil)
	for range 3 {
		ranked, err := r.Rank(t.Context(), "please find me some pages", candidates)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("web_search", names(ranked)[0]); diff != "" || ranked[0].Similarity < .9 || ranked[1].Similarity > .1 {
			t.Errorf("got %v %s", ranked, diff)
		}
	}
	if n := e.texts.Load(); n != 4 || e.asked.Load() != 1 {
		t.Errorf("%d texts in %d requests", n, e.asked.Load())
	}
	if ranked, err := r.Rank(t.Context(), "a brief summary", candidates); err != nil || names(ranked)[0] != "summarize" || e.texts.Load() != 5 {
		t.Errorf("got %v, %v", ranked, err)
	}
}

func TestWhatIsLearntBeforeIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	r := newRanker(t, e, nil)
	many := candidates
	for n := range 200 {
		many = append(many, meaning.Candidate{Name: fmt.Sprint("c", n), Text: fmt.Sprint("number ", n)})
	}
	if err := r.Learn(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	if n := e.asked.Load(); n != 4 {
		t.Errorf("%d requests for 203 texts", n)
	}
	if _, err := r.Rank(t.Context(), "rain", many); err != nil || e.texts.Load() != 204 {
		t.Errorf("%d texts were asked for, %v", e.texts.Load(), err)
	}
}

func TestAnEndpointThatFailsIsLeftAloneForAWhile(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.failing.Store(true)
	var mu sync.Mutex
	now := time.Now()
	r := newRanker(t, e, func(c *meaning.Config) {
		c.Rest = time.Minute
		c.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	for range 5 {
		if _, err := r.Rank(t.Context(), "rain", candidates); !errors.Is(err, meaning.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
	}
	if n := e.asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	e.failing.Store(false)
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	if ranked, err := r.Rank(t.Context(), "rain", candidates); err != nil || names(ranked)[0] != "forecast" {
		t.Errorf("got %v, %v", ranked, err)
	}
}

func TestNobodyWaitsLongerThanTheTimeout(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.slow = make(chan struct{})
	defer close(e.slow)
	r := newRanker(t, e, func(c *meaning.Config) { c.Timeout, c.Rest = 50*time.Millisecond, time.Hour })
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			if _, err := r.Rank(t.Context(), fmt.Sprint("rain ", n), candidates); !errors.Is(err, meaning.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait() // the endpoint does not answer before
	if n := e.asked.Load(); n > 1 {
		t.Errorf("%d requests at an endpoint that does not answer", n)
	}
}

// roundTrip is an endpoint without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (fn roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

// Whoever has waited behind a question that failed leaves the endpoint alone like those who come later.
func TestAnEndpointThatFailsIsLeftAloneByThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, hold := 0, make(chan struct{})
		r, err := meaning.New(meaning.Config{URL: "http://127.0.0.1:9", Model: "small", Client: &http.Client{
			Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				asked++
				<-hold
				return nil, errors.New("refused")
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() {
				if _, err := r.Rank(t.Context(), fmt.Sprint("rain ", n), candidates); !errors.Is(err, meaning.ErrUnavailable) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait() // one asks, the others wait for it
		close(hold)
		all.Wait()
		if asked != 1 {
			t.Errorf("it was asked %d times", asked)
		}
	})
}

func TestACallerThatLeavesSaysNothingOfTheEndpoint(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	r := newRanker(t, e, nil)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := r.Rank(gone, "rain", candidates); err == nil {
		t.Error("who has left got an answer")
	}
	if _, err := r.Rank(t.Context(), "rain", candidates); err != nil {
		t.Error(err)
	}
}

func TestAnswersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		status     int
	}{
		{"no JSON", "hello", 200},
		{"another object", `{"choices":[]}`, 200},
		{"too few vectors", `{"data":[{"index":0,"embedding":[1,0]}]}`, 200},
		{"one vector twice", `{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`, 200},
		{"a vector of another text", `{"data":[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[1,0]}]}`, 200},
		{"vectors of two lengths", `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1]}]}`, 200},
		{"an empty vector", `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, 200},
		{"a vector of nothing", `{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[1,0]}]}`, 200},
		{"a redirect", ``, 307},
		{"no right", `{"error":"key"}`, 401},
		{"too much", `{"data":"` + strings.Repeat("x", 17<<20) + `"}`, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer secret-key" {
					t.Error("the key did not come")
				}
				w.Header().Set("Location", "http://127.0.0.1:9/elsewhere")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			t.Cleanup(server.Close)
			r, err := meaning.New(meaning.Config{URL: server.URL + "/v1/embeddings", Model: "small", Key: "secret-key", Timeout: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Rank(t.Context(), "rain", candidates[:1])
			if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), server.URL) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
}

func TestABadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for _, cfg := range []meaning.Config{{}, {URL: "http://127.0.0.1/v1"}, {URL: "ftp://127.0.0.1", Model: "m"}, {URL: "::", Model: "m"}} {
		if _, err := meaning.New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}
