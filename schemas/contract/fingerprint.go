package contract

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/agentreach/agent-reach/schemas"
)

// Fingerprint tells bodies apart that come with the same idempotency key: capability or intent, payload, quality of service and
// callback. Payloads are equal in their canonical form, in which a digest stands for a long string; an absent one is {}, an absent quality of
// service is standard.
func Fingerprint(capabilityOrIntent string, payload schemas.Payload, qos, callback string) string {
	body := []byte(payload)
	if body == nil {
		body = []byte("{}")
	}
	if bones, err := shortened(body); err == nil {
		body = bones
	}
	return FingerprintOf(capabilityOrIntent, body, qos, callback)
}

// shortened is the skeleton of a value; the value itself, and no copy, where it has no long string.
func shortened(body []byte) ([]byte, error) {
	s := newBones(bytes.NewReader(body))
	for len(s.cuts) == 0 {
		s.gone, s.out = s.gone+int64(len(s.out)), s.out[:0] // nothing of it is needed yet
		switch err := s.advance(); {
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, err
		}
	}
	skeleton, err := ReadSkeleton(bytes.NewReader(body), math.MaxInt)
	if err != nil {
		return nil, err
	}
	return skeleton.Value, nil
}

// FingerprintOf is Fingerprint of a payload by its skeleton, or, where it has none, by itself.
func FingerprintOf(capabilityOrIntent string, body []byte, qos, callback string) string {
	sum := sha256.New()
	field := func(text string) { _, _ = fmt.Fprintf(sum, "%d:%s", len(text), text) }
	field(capabilityOrIntent)
	addPayload(sum, body)
	field(cmp.Or(qos, string(schemas.QoSStandard)))
	field(callback)
	return hex.EncodeToString(sum.Sum(nil))
}

// small is how many bytes of a payload are no effort.
const small = 64 << 10

// addPayload adds the canonical form of a payload with its length before it. That of a large one is not held: it is written twice.
func addPayload(sum io.Writer, body []byte) {
	var length tally
	switch {
	case len(body) <= small:
		if form, err := schemas.Canonical(body); err == nil {
			body = form
		}
	case schemas.WriteCanonical(&length, body) == nil:
		_, _ = fmt.Fprintf(sum, "%d:", length)
		_ = schemas.WriteCanonical(sum, body) // as before
		return
	}
	_, _ = fmt.Fprintf(sum, "%d:", len(body))
	_, _ = sum.Write(body)
}

// tally counts what is written to it.
type tally int64

func (c *tally) Write(p []byte) (int, error) {
	*c += tally(len(p))
	return len(p), nil
}
