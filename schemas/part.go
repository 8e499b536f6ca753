package schemas

import "github.com/go-json-experiment/json/jsontext"

// skipped is a member that nobody reads: it is only passed over.
type skipped struct{}

// UnmarshalJSONFrom passes over the value.
func (*skipped) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return dec.SkipValue() }

// DecodeTask is Decode for who runs the task of a message: its hops are left out.
func DecodeTask(data []byte, m *ReachMessage) error {
	return Decode(data, &struct {
		*ReachMessage
		Hops skipped `json:"hops"`
	}{ReachMessage: m})
}

// DecodeHead is Decode for who follows the task of a message: what may be large, and what only the agent or a reader of one task needs
// is left out: payload, metadata, tags and hops.
func DecodeHead(data []byte, m *ReachMessage) error {
	return Decode(data, &struct {
		*ReachMessage
		Payload  skipped `json:"payload"`
		Metadata skipped `json:"metadata"`
		Tags     skipped `json:"tags"`
		Hops     skipped `json:"hops"`
	}{ReachMessage: m})
}

// DecodeEnd is Decode for who follows the task of a record: its hops, and the message of a dead letter, are left out.
func DecodeEnd(data []byte, r *Record) error {
	return Decode(data, &struct {
		*Record
		Hops    skipped `json:"hops"`
		Message skipped `json:"message"`
	}{Record: r})
}
