package meaning

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/agentreach/agent-reach/schemas"
)

// Bounds of an answer.
const (
	maxAnswer    = 16 << 20 // bytes
	maxDimension = 16 << 10 // numbers of a vector
)

type question struct {
	Model    string   `json:"model"`
	Input    []string `json:"input"`
	Encoding string   `json:"encoding_format"`
}

type answer struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	} `json:"data"`
}

// embed asks for the vectors of some texts, in their order.
func (r *Ranker) embed(ctx context.Context, texts []string) ([][]float32, error) {
	body := schemas.MustEncode(question{r.cfg.Model, texts, "float"})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: the request cannot be made", ErrUnavailable)
	}
	request.Header.Set("Content-Type", "application/json")
	if r.cfg.Key != "" {
		request.Header.Set("Authorization", "Bearer "+r.cfg.Key)
	}
	response, err := r.cfg.Client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, withoutURL(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: it says %d", ErrUnavailable, response.StatusCode)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, withoutURL(err))
	}
	return vectors(content, len(texts))
}

// withoutURL is what went wrong without the address, which may hold a secret.
func withoutURL(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err
}

// vectors reads an answer, which has one vector for each text, all of one length.
func vectors(content []byte, n int) ([][]float32, error) {
	if len(content) > maxAnswer {
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	var a answer
	if err := schemas.Decode(content, &a); err != nil {
		return nil, errors.New("the answer is not what an embeddings endpoint says")
	}
	if len(a.Data) != n {
		return nil, fmt.Errorf("the answer has %d vectors for %d texts", len(a.Data), n)
	}
	all := make([][]float32, n)
	for _, d := range a.Data {
		if d.Index < 0 || d.Index >= n || all[d.Index] != nil {
			return nil, fmt.Errorf("the answer has no vector number %d", d.Index)
		}
		if len(d.Embedding) > maxDimension || len(d.Embedding) != len(a.Data[0].Embedding) {
			return nil, fmt.Errorf("a vector has %d numbers", len(d.Embedding))
		}
		vector, err := unit(d.Embedding)
		if err != nil {
			return nil, err
		}
		all[d.Index] = vector
	}
	return all, nil
}
