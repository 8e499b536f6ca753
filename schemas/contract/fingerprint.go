package contract

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	if skeleton, err := ReadSkeleton(bytes.NewReader(body), math.MaxInt); err == nil {
		body = skeleton.Value
	}
	return FingerprintOf(capabilityOrIntent, body, qos, callback)
}

// FingerprintOf is Fingerprint of a payload by its skeleton, or, where it has none, by itself.
func FingerprintOf(capabilityOrIntent string, body []byte, qos, callback string) string {
	if form, err := schemas.Canonical(body); err == nil {
		body = form
	}
	sum := sha256.New()
	for _, field := range []string{
		capabilityOrIntent, string(body), cmp.Or(qos, string(schemas.QoSStandard)), callback,
	} {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(field), field)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
