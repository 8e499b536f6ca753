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
	Trouble      string               `json:"trouble,omitzero"` // why its probes fail, while State is degraded

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

// ScheduleRecord is a task that recurs. ID tells it from another of the same name that was there before.
type ScheduleRecord struct {
	schemas.Schedule
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
}

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

// Schedules are the tasks that recur, by ScheduleKey.
func (c *Conn) Schedules() *Bucket[ScheduleRecord] {
	return &Bucket[ScheduleRecord]{conn: c, name: bucketSchedules}
}

// ScheduleKey is the key of a schedule. Neither name can hold what parts them.
func ScheduleKey(tenant, name string) string { return tenant + "_" + name }

var keyEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// IdempotencyKey is the key of a caller's msg_id, which may be any text and so never becomes a key itself.
func IdempotencyKey(tenant, msgID string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + msgID))
	return strings.ToLower(keyEncoding.EncodeToString(sum[:]))
}
