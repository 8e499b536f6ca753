package contract

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/agentreach/agent-reach/schemas"
)

// Fingerprint tells bodies apart that come with the same idempotency key: capability or intent, payload, quality of service and
// callback. Payloads are equal in their canonical form; an absent one is {}, an absent quality of service is standard.
func Fingerprint(capabilityOrIntent string, payload schemas.Payload, qos, callback string) string {
	body := []byte(payload)
	if body == nil {
		body = []byte("{}")
	}
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
