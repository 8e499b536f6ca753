package schemas

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// DefaultTenant is the tenant of everyone where none are configured.
const DefaultTenant = "default"

// NoAgent stands in a subject for an agent where there is none yet.
const NoAgent = "-"

// One grammar for every name that becomes a token of a subject, a key or a topic. Each is legal as a NATS token, an MQTT level, an
// MCP tool name and a metric label; none can hold a wildcard, a separator or a control character. They are checked for every message
// on its way, and so not by regular expressions.

// isCapability is ^[a-z][a-z0-9_]{0,63}$.
func isCapability(name string) bool {
	return name != "" && len(name) <= 64 && isLower(name[0]) && all(name, func(c byte) bool { return isLower(c) || isDigit(c) || c == '_' })
}

// isLabel is ^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$.
func isLabel(name string) bool {
	return name != "" && len(name) <= 63 && name[0] != '-' && name[len(name)-1] != '-' &&
		all(name, func(c byte) bool { return isLower(c) || isDigit(c) || c == '-' })
}

// isTaskID is ^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$.
func isTaskID(name string) bool {
	if len(name) != 36 || name[14] != '7' || name[19] < '8' || name[19] > 'b' {
		return false
	}
	for i := range len(name) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (name[i] == '-') || !dash && !isHex(name[i]) {
			return false
		}
	}
	return true
}

// IsToken is ^[A-Za-z0-9_-]{1,64}$: what names of writes and such may be.
func IsToken(text string) bool {
	return text != "" && len(text) <= 64 &&
		all(text, func(c byte) bool { return isLower(c) || isDigit(c) || 'A' <= c && c <= 'Z' || c == '_' || c == '-' })
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c && c <= 'f' }

func all(text string, fits func(byte) bool) bool {
	for i := range len(text) {
		if !fits(text[i]) {
			return false
		}
	}
	return true
}

// MaxMsgIDBytes bounds a caller's idempotency key.
const MaxMsgIDBytes = 256

// CheckCapability refuses what is not the id of a capability.
func CheckCapability(name string) error {
	return checkName("capability", name, isCapability, "lower-case letters, digits and _, a letter first, at most 64")
}

// CheckAgentID refuses what is not an agent_id.
func CheckAgentID(name string) error { return checkLabel("agent_id", name) }

// CheckTenant refuses what is not the name of a tenant.
func CheckTenant(name string) error { return checkLabel("tenant", name) }

// CheckGroup refuses what is not the name of a group.
func CheckGroup(name string) error { return checkLabel("group", name) }

// CheckSchedule refuses what is not the name of a schedule.
func CheckSchedule(name string) error { return checkLabel("name", name) }

// CheckTaskID refuses what is not a task_id: a lower-case UUID version 7.
func CheckTaskID(name string) error {
	return checkName("task_id", name, isTaskID, "a lower-case UUID version 7")
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

// DerivedTaskID is the task_id that a moment and some words stand for: the same for the same, by whomever it is made.
func DerivedTaskID(at time.Time, words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	id := uuid.UUID(sum[:16])
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6], id[8] = 0x70|id[6]&0x0f, 0x80|id[8]&0x3f
	return id.String()
}

// TaskIDTime is the moment that a task_id was made, in Unix milliseconds; 0 for what is not a task_id.
func TaskIDTime(id string) int64 {
	if !isTaskID(id) {
		return 0
	}
	ms, _ := strconv.ParseInt(id[:8]+id[9:13], 16, 64) // 48 bits of hexadecimal digits
	return ms
}

func checkLabel(what, name string) error {
	return checkName(what, name, isLabel, "lower-case letters, digits and -, no - at either end, at most 63")
}

// checkName never quotes the name: it may be hostile, and the caller knows it.
func checkName(what, name string, fits func(string) bool, accepted string) error {
	if fits(name) {
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
