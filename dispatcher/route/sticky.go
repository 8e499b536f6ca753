package route

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

// DefaultStickyBy is the member of a message's metadata that tells which tasks belong together, where a route names no other.
const DefaultStickyBy = "session_id"

// maxSticky bounds a key, which is kept as long as its task is: a longer one stands as its digest.
const maxSticky = 64

// StickyKey is what tasks that belong together have in common: a member of their metadata, a text or a number. A message without
// is alone: its key is its msg_id, else its task_id.
func StickyKey(m *schemas.ReachMessage, member string) string {
	if key := memberOf(m.Metadata, member); len(key) > maxSticky {
		digest := sha256.Sum256([]byte(key))
		return base64.RawURLEncoding.EncodeToString(digest[:])
	} else if key != "" {
		return key
	}
	if m.MsgID != "" {
		return m.MsgID
	}
	return m.TaskID
}

// memberOf is the text or number of a member of a JSON object; empty if it has no such member.
func memberOf(object jsontext.Value, name string) string {
	var members map[string]jsontext.Value
	if len(object) == 0 || schemas.Decode(object, &members) != nil {
		return ""
	}
	var text string
	switch value := members[name]; value.Kind() {
	case jsontext.KindString:
		_ = schemas.Decode(value, &text) // a text that was decoded once
	case jsontext.KindNumber:
		text = string(value)
	}
	return text
}
