package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/agentreach/agent-reach/schemas/smallfile"
)

// secret is where a key is kept; it is nowhere else.
type secret struct{ file, variable string }

// read is the key; "" where none was configured. A new one counts from the next request on.
func (s secret) read() (string, error) {
	switch {
	case s.file != "":
		content, err := smallfile.Read(s.file, smallfile.Secret)
		if err != nil {
			return "", fmt.Errorf("read the key: %w", err)
		}
		return checkKey(string(content))
	case s.variable != "":
		return checkKey(os.Getenv(s.variable))
	}
	return "", nil
}

func checkKey(key string) (string, error) {
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", errors.New("read the key: it is empty, or has characters that no key has")
	}
	return key, nil
}

func authorize(header http.Header, key string) {
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
}

// completions is where to post, given the base of an endpoint or the whole address.
func completions(endpoint string) (string, error) {
	const path = "/chat/completions"
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("endpoint is not a URL")
	}
	if !strings.HasSuffix(u.Path, path) {
		u.Path = strings.TrimSuffix(u.Path, "/") + path
	}
	return u.String(), nil
}
