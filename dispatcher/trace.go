package dispatcher

import (
	"crypto/rand"
	"encoding/hex"
)

// trace continues the caller's trace, or begins one: the trace id, and a traceparent of our own span
// (https://www.w3.org/TR/trace-context/). The caller's have been checked; of two that differ the traceparent counts.
func trace(traceID, traceparent string) (string, string) {
	flags := "01"
	switch {
	case traceparent != "":
		traceID, flags = traceparent[3:35], traceparent[53:55]
	case traceID == "":
		traceID = randomHex(16)
	}
	return traceID, "00-" + traceID + "-" + randomHex(8) + "-" + flags
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
