package broker

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

// AgentRecord is a registered agent. State is where it stood when the record was written.
type AgentRecord struct {
	Registration schemas.Registration `json:"registration"`
	State        schemas.AgentState   `json:"state"`
	RegisteredAt schemas.Time         `json:"registered_at,omitzero"`

	Unknown jsontext.Value `json:",embed"` // what a later release has added
}

// KeyRecord says which task a caller's idempotency key stands for. Fingerprint tells whether a repeat asks for the same.
type KeyRecord struct {
	TaskID      string       `json:"task_id"`
	Fingerprint string       `json:"fingerprint"`
	ForgetAt    schemas.Time `json:"forget_at,omitzero"`
}

// OwedRecord is a task whose end is owed to the device that has submitted it, until the device acknowledges it. Stream says that the
// device wants the chunks too.
type OwedRecord struct {
	Device string `json:"device"`
	TaskID string `json:"task_id"`
	Stream bool   `json:"stream,omitzero"`
}

// OwedKey is the key of an OwedRecord.
func OwedKey(device, taskID string) string { return device + "_" + taskID }

// Owed are the tasks whose end a device has not acknowledged, by OwedKey.
func (c *Conn) Owed() *Bucket[OwedRecord] { return &Bucket[OwedRecord]{conn: c, name: bucketOwed} }

// Agents are the registrations, by agent_id.
func (c *Conn) Agents() *Bucket[AgentRecord] {
	return &Bucket[AgentRecord]{conn: c, name: bucketAgents}
}

// Capabilities are the dictionary, by id.
func (c *Conn) Capabilities() *Bucket[schemas.Capability] {
	return &Bucket[schemas.Capability]{conn: c, name: bucketCapabilities}
}

// Keys are the callers' idempotency keys, by IdempotencyKey.
func (c *Conn) Keys() *Bucket[KeyRecord] { return &Bucket[KeyRecord]{conn: c, name: bucketIdempotency} }

var keyEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// IdempotencyKey is the key of a caller's msg_id, which may be any text and so never becomes a key itself.
func IdempotencyKey(tenant, msgID string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + msgID))
	return strings.ToLower(keyEncoding.EncodeToString(sum[:]))
}
