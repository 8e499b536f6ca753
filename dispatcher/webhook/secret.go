package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The forms of a secret, and bounds of a symmetric one in bytes.
const (
	symmetricPrefix  = "whsec_"
	asymmetricPrefix = "whsk_"
	minSecret        = 24
	maxSecret        = 64
	maxSecrets       = 8
)

// Secrets sign messages: each of them does, so that a receiver may know either while one takes the other's place.
type Secrets struct{ keys []key }

// key makes one signature of a text.
type key interface{ sign(text []byte) string }

// ParseSecrets reads secrets, one a line: whsec_ and the base64 of 24 to 64 random bytes for HMAC-SHA256, or whsk_ and the base64 of
// an Ed25519 key (its seed, or seed and public key). Blank lines, and those that begin with #, are passed over. At most 8 are taken.
// The error never quotes a line.
func ParseSecrets(text string) (Secrets, error) {
	var secrets Secrets
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := parseKey(line)
		if err != nil {
			return Secrets{}, fmt.Errorf("line %d: %w", number, err)
		}
		secrets.keys = append(secrets.keys, key)
	}
	switch {
	case len(secrets.keys) == 0:
		return Secrets{}, errors.New("there is no secret: write whsec_ and the base64 of 32 random bytes on a line")
	case len(secrets.keys) > maxSecrets:
		return Secrets{}, fmt.Errorf("there are %d secrets: at most %d sign at once", len(secrets.keys), maxSecrets)
	}
	return secrets, nil
}

func parseKey(line string) (key, error) {
	if text, found := strings.CutPrefix(line, symmetricPrefix); found {
		secret, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(secret) < minSecret || len(secret) > maxSecret {
			return nil, fmt.Errorf("after %s stands the base64 of %d to %d bytes", symmetricPrefix, minSecret, maxSecret)
		}
		return symmetric(secret), nil
	}
	text, found := strings.CutPrefix(line, asymmetricPrefix)
	if !found {
		return nil, fmt.Errorf("a secret begins with %s or %s", symmetricPrefix, asymmetricPrefix)
	}
	secret, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err == nil && len(secret) == ed25519.SeedSize:
		return asymmetric(ed25519.NewKeyFromSeed(secret)), nil
	case err == nil && len(secret) == ed25519.PrivateKeySize:
		return asymmetric(secret), nil
	}
	return nil, fmt.Errorf("after %s stands the base64 of an Ed25519 key, %d or %d bytes", asymmetricPrefix,
		ed25519.SeedSize, ed25519.PrivateKeySize)
}

// sign gives the signatures of a message as their header has them. An id never holds a full stop, or the text would have two meanings.
func (s Secrets) sign(id string, at time.Time, body []byte) string {
	text := append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), body...)
	signatures := make([]string, len(s.keys))
	for i, key := range s.keys {
		signatures[i] = key.sign(text)
	}
	return strings.Join(signatures, " ")
}

type symmetric []byte

func (k symmetric) sign(text []byte) string {
	mac := hmac.New(sha256.New, k)
	mac.Write(text)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

type asymmetric ed25519.PrivateKey

func (k asymmetric) sign(text []byte) string {
	return "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(ed25519.PrivateKey(k), text))
}
