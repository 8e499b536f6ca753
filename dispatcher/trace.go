package dispatcher

import (
	"crypto/rand"
	"encoding/hex"
)

// trace continues the caller's trace, or begins one: the trace id, and a traceparent of our own span
// (https://www.w3.org/TR/trace-context/). The caller's has been checked.
func trace(traceparent string) (traceID, own string) {
	flags := "01"
	if len(traceparent) == 55 {
		traceID, flags = traceparent[3:35], traceparent[53:55]
	} else {
		traceID = randomHex(16)
	}
	own = "00-" + traceID + "-" + randomHex(8) + "-" + flags
	return own[3:35], own
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
