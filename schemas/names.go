package schemas

import (
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// DefaultTenant is the tenant of everyone where none are configured.
const DefaultTenant = "default"

// NoAgent stands in a subject for an agent where there is none yet.
const NoAgent = "-"

// One grammar for every name that becomes a token of a subject, a key or a topic. Each is legal as a NATS token, an MQTT level, an
// MCP tool name and a metric label; none can hold a wildcard, a separator or a control character.
var (
	capabilityName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	label          = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	taskID         = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
)

// MaxMsgIDBytes bounds a caller's idempotency key.
const MaxMsgIDBytes = 256

// CheckCapability refuses what is not the id of a capability.
func CheckCapability(name string) error {
	return checkName("capability", name, capabilityName, "lower-case letters, digits and _, a letter first, at most 64")
}

// CheckAgentID refuses what is not an agent_id.
func CheckAgentID(name string) error { return checkLabel("agent_id", name) }

// CheckTenant refuses what is not the name of a tenant.
func CheckTenant(name string) error { return checkLabel("tenant", name) }

// CheckGroup refuses what is not the name of a group.
func CheckGroup(name string) error { return checkLabel("group", name) }

// CheckTaskID refuses what is not a task_id: a lower-case UUID version 7.
func CheckTaskID(name string) error {
	return checkName("task_id", name, taskID, "a lower-case UUID version 7")
}

// CheckMsgID refuses an idempotency key that is empty, longer than MaxMsgIDBytes, or not printable text.
func CheckMsgID(key string) error {
	if isText(key, MaxMsgIDBytes) {
		return nil
	}
	return NewError(InvalidArgument, ReasonBadName, "msg_id takes 1 to %d bytes of printable text", MaxMsgIDBytes).
		With("field", "/msg_id")
}

// NewTaskID makes a task_id: a UUID version 7, whose first 48 bits are the time in milliseconds.
func NewTaskID() string { return uuid.Must(uuid.NewV7()).String() }

// TaskIDTime is the moment that a task_id was made, in Unix milliseconds; 0 for what is not a task_id.
func TaskIDTime(id string) int64 {
	if !taskID.MatchString(id) {
		return 0
	}
	parsed := uuid.MustParse(id)
	var ms int64
	for _, b := range parsed[:6] {
		ms = ms<<8 | int64(b)
	}
	return ms
}

func checkLabel(what, name string) error {
	return checkName(what, name, label, "lower-case letters, digits and -, no - at either end, at most 63")
}

// checkName never quotes the name: it may be hostile, and the caller knows it.
func checkName(what, name string, grammar *regexp.Regexp, accepted string) error {
	if grammar.MatchString(name) {
		return nil
	}
	return NewError(InvalidArgument, ReasonBadName, "%s takes %s", what, accepted).With("field", "/"+what).With("expected", accepted)
}

// isText reports whether s is printable UTF-8 of 1 to limit bytes.
func isText(s string, limit int) bool {
	if s == "" || len(s) > limit || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
