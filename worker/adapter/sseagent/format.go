package sseagent

import (
	"mime"
	"strings"
)

// Format is how an answer is written.
type Format string

// The formats.
const (
	FormatSSE    Format = "sse"    // text/event-stream
	FormatNDJSON Format = "ndjson" // one JSON value a line
	FormatText   Format = "text"   // text, each piece a chunk as it comes
	FormatJSON   Format = "json"   // one JSON value, no stream
)

func (f Format) known() bool {
	switch f {
	case "", FormatSSE, FormatNDJSON, FormatText, FormatJSON:
		return true
	}
	return false
}

// formatOf goes by the Content-Type. What has no type that streams is read as one JSON value, which an error page then is not.
func formatOf(contentType string) Format {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	}
	switch strings.TrimSpace(media) {
	case "text/event-stream":
		return FormatSSE
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl", "application/jsonlines",
		"application/x-jsonlines", "application/json-lines", "application/json-seq", "application/stream+json":
		return FormatNDJSON
	case "text/plain":
		return FormatText
	}
	return FormatJSON
}
