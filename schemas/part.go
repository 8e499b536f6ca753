package schemas

import (
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// What is read of a message or record where not all of it is.
var (
	partToRun    = layouts[reflect.TypeFor[*ReachMessage]()].without("hops")
	partToFollow = layouts[reflect.TypeFor[*ReachMessage]()].without("payload", "metadata", "tags", "hops")
	partOfEnd    = layouts[reflect.TypeFor[*Record]()].without("hops", "message")
)

// skipped is a member that nobody reads: it is only passed over.
type skipped struct{}

// UnmarshalJSONFrom passes over the value.
func (*skipped) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return dec.SkipValue() }

// DecodeTask is Decode for who runs the task of a message: its hops are left out. It may lend raw values of data to m.
func DecodeTask(data []byte, m *ReachMessage) error {
	if partToRun.lend(data, m) {
		return nil
	}
	return Decode(data, &struct {
		*ReachMessage
		Hops skipped `json:"hops"`
	}{ReachMessage: m})
}

// DecodeHead is Decode for who follows the task of a message: what may be large, and what only the agent or a reader of one task needs
// is left out: payload, metadata, tags and hops.
func DecodeHead(data []byte, m *ReachMessage) error {
	if partToFollow.lend(data, m) {
		return nil
	}
	return Decode(data, &struct {
		*ReachMessage
		Payload  skipped `json:"payload"`
		Metadata skipped `json:"metadata"`
		Tags     skipped `json:"tags"`
		Hops     skipped `json:"hops"`
	}{ReachMessage: m})
}

// DecodeEnd is Decode for who follows the task of a record: its hops, and the message of a dead letter, are left out. It may lend raw
// values of data to r.
func DecodeEnd(data []byte, r *Record) error {
	if partOfEnd.lend(data, r) {
		return nil
	}
	return Decode(data, &struct {
		*Record
		Hops    skipped `json:"hops"`
		Message skipped `json:"message"`
	}{Record: r})
}
