package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

const (
	defaultSentences = 3
	maxSentences     = 1000
	maxBody          = 16 << 20
)

// agent answers requests.
type agent struct {
	effects string // a file, or ""
}

type request struct {
	Text         string   `json:"text"`
	MaxSentences *float64 `json:"max_sentences"` // 2.0 is an integer, too
}

type response struct {
	Summary string `json:"summary"`
}

// problem is an error as agents report it.
type problem struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (a *agent) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /run", a.run)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

func (a *agent) run(w http.ResponseWriter, r *http.Request) {
	req, bad := read(http.MaxBytesReader(w, r.Body, maxBody))
	if bad != nil {
		answer(w, bad.status, map[string]*problem{"error": bad})
		return
	}
	summary := summarize(req.Text, int(min(*req.MaxSentences, maxSentences)))
	if err := a.note(r.Header.Get("Reach-Task-Id")); err != nil {
		bad = &problem{http.StatusInternalServerError, "INTERNAL", "the effect cannot be noted"}
		answer(w, bad.status, map[string]*problem{"error": bad})
		return
	}
	answer(w, http.StatusOK, response{summary})
}

func read(body io.Reader) (request, *problem) {
	var req request
	err := json.NewDecoder(body).Decode(&req)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		message := fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit)
		return req, &problem{http.StatusRequestEntityTooLarge, "RESOURCE_EXHAUSTED", message}
	case err != nil:
		return req, invalid("the body is not an object with text and max_sentences")
	case strings.TrimSpace(req.Text) == "":
		return req, invalid("text is empty")
	case req.MaxSentences == nil:
		most := float64(defaultSentences)
		req.MaxSentences = &most
	case *req.MaxSentences < 1:
		return req, invalid("max_sentences is less than 1")
	}
	return req, nil
}

func invalid(message string) *problem {
	return &problem{http.StatusBadRequest, "INVALID_ARGUMENT", message}
}

// note appends one line to the effects.
func (a *agent) note(task string) error {
	if a.effects == "" {
		return nil
	}
	f, err := os.OpenFile(a.effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note effect: %w", err)
	}
	_, err = fmt.Fprintln(f, task)
	return errors.Join(err, f.Close())
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
