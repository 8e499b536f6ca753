// Package meaning ranks what an intent may mean by an embeddings endpoint: any that speaks as OpenAI's /v1/embeddings does. It is
// asked where words alone have found nothing, and its answers are remembered, so that the same intent is asked once.
//
// Whoever asks waits at most for Config.Timeout. An endpoint that has failed is left alone for Config.Rest: while it is, the answer is
// ErrUnavailable at once, and the caller goes on without. No goroutine is started here.
package meaning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds.
const (
	MaxCandidates = 1000     // that are compared with an intent
	MaxTextBytes  = 2048     // of a text that is sent; what is longer is cut
	MaxCacheBytes = 64 << 20 // of vectors that are remembered
	batch         = 64       // texts in one request
)

// ErrUnavailable says that the endpoint did not answer, or is left alone since it did not.
var ErrUnavailable = errors.New("the embeddings endpoint does not answer")

// Config of a Ranker. URL and Model are needed.
type Config struct {
	URL     string        // of the API, such as http://127.0.0.1:11434/v1; /embeddings is added where it is missing
	Model   string        // its name for the endpoint
	Key     string        // sent as a bearer token; empty for none
	Timeout time.Duration // of one question, 1 s
	Rest    time.Duration // for an endpoint that has failed, 5 s
	Least   float64       // the similarity, 0 to 1, from which on an intent is taken to mean something; .6

	Now    func() time.Time // the clock; time.Now
	Client *http.Client     // nil: one that follows no redirects
}

// Candidate is something that an intent may mean.
type Candidate struct {
	Name string // as the caller calls it
	Text string // what it means, in words
}

// Ranked is a candidate with the cosine of the angle between its vector and the intent's, -1 to 1.
type Ranked struct {
	Name       string
	Similarity float64
}

// Ranker asks one endpoint. It is safe for any number of goroutines; one request is on its way at a time.
type Ranker struct {
	cfg   Config
	url   string
	cache cache

	asking chan struct{} // has one token: the right to ask
	mu     sync.Mutex
	again  time.Time // the endpoint is left alone before
}

// New checks the configuration. Nothing is asked yet.
func New(cfg Config) (*Ranker, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Second)
	cfg.Rest = cmp.Or(cfg.Rest, 5*time.Second)
	cfg.Least = cmp.Or(cfg.Least, .6)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	address, err := url.Parse(cfg.URL)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, errors.New("the embeddings endpoint is not a URL such as http://127.0.0.1:11434/v1")
	}
	if cfg.Model == "" {
		return nil, errors.New("the embeddings endpoint needs the name of a model")
	}
	if address.Path = strings.TrimSuffix(address.Path, "/"); !strings.HasSuffix(address.Path, "/embeddings") {
		address.Path += "/embeddings"
	}
	r := &Ranker{cfg: cfg, url: address.String(), cache: newCache(MaxCacheBytes), asking: make(chan struct{}, 1)}
	r.asking <- struct{}{}
	return r, nil
}

// Least is the similarity from which on an intent is taken to mean something.
func (r *Ranker) Least() float64 { return r.cfg.Least }

// Rank orders candidates by how near they are in meaning to an intent, the nearest first. The error is ErrUnavailable, or why the
// endpoint's answer cannot be used.
func (r *Ranker) Rank(ctx context.Context, intent string, candidates []Candidate) ([]Ranked, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	candidates = candidates[:min(len(candidates), MaxCandidates)]
	if err := r.learn(ctx, texts(intent, candidates)); err != nil {
		return nil, err
	}
	asked, found := r.cache.get(cut(intent))
	if !found {
		return nil, ErrUnavailable // it has made room for others at once: there are too many
	}
	ranked := make([]Ranked, 0, len(candidates))
	for _, c := range candidates {
		if meant, found := r.cache.get(cut(c.Text)); found && len(meant) == len(asked) {
			ranked = append(ranked, Ranked{c.Name, cosine(asked, meant)})
		}
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return ranked, nil
}

// Learn asks for what is not known yet of candidates, so that a later Rank need not. It takes as long as ctx lets it.
func (r *Ranker) Learn(ctx context.Context, candidates []Candidate) error {
	return r.learn(ctx, texts("", candidates[:min(len(candidates), MaxCandidates)]))
}

// texts are those to be known, the intent first.
func texts(intent string, candidates []Candidate) []string {
	all := make([]string, 0, len(candidates)+1)
	if intent != "" {
		all = append(all, cut(intent))
	}
	for _, c := range candidates {
		all = append(all, cut(c.Text))
	}
	return all
}

func cut(text string) string {
	if len(text) <= MaxTextBytes {
		return text
	}
	return strings.ToValidUTF8(text[:MaxTextBytes], "")
}

// learn asks for the texts whose vectors are not known. Each answer is kept, even if a later one does not come.
func (r *Ranker) learn(ctx context.Context, texts []string) error {
	if len(r.cache.missing(texts)) == 0 {
		return nil
	}
	if r.resting() {
		return ErrUnavailable
	}
	select {
	case <-r.asking:
	case <-ctx.Done():
		return ErrUnavailable
	}
	defer func() { r.asking <- struct{}{} }()
	if ctx.Err() != nil || r.resting() { // while it waited for the others
		return ErrUnavailable
	}
	for missing := range slices.Chunk(r.cache.missing(texts), batch) { // another may have asked meanwhile
		vectors, err := r.embed(ctx, missing)
		if err != nil {
			if !errors.Is(ctx.Err(), context.Canceled) { // that was the caller's doing
				r.rest()
			}
			return err
		}
		for i, text := range missing {
			r.cache.put(text, vectors[i])
		}
	}
	return nil
}

func (r *Ranker) resting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cfg.Now().Before(r.again)
}

func (r *Ranker) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again = r.cfg.Now().Add(r.cfg.Rest)
}

// cosine of two vectors of length 1.
func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return min(1, max(-1, sum))
}

// unit is a vector of length 1 in the same direction.
func unit(vector []float64) ([]float32, error) {
	length := 0.0
	for _, x := range vector {
		length += x * x
	}
	length = math.Sqrt(length)
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return nil, fmt.Errorf("a vector of %d numbers has no direction", len(vector))
	}
	short := make([]float32, len(vector))
	for i, x := range vector {
		short[i] = float32(x / length)
	}
	return short, nil
}
