package schemas

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// aMessage and aRecord have every member that is left out somewhere, and one that this version does not know.
func aMessage() *ReachMessage {
	at := At(time.UnixMilli(1_790_000_000_123))
	return &ReachMessage{
		V: CurrentVersion, TaskID: NewTaskID(), MsgID: "m", Tenant: DefaultTenant, Capability: "echo", Payload: Payload(`{"text":"Ships sail."}`),
		Metadata: jsontext.Value(`{"a":1}`), Tags: []string{"notes"}, SubmittedAt: at, ForgetAt: at, TraceID: "t",
		Assignment: &Assignment{AgentID: "laptop-1", Chain: []string{"laptop-1", "server-2"}},
		Hops: []Hop{
			{Hop: HopSubmitted, At: at, By: "dispatcher-1"}, {Hop: HopRouted, At: at, By: "dispatcher-1", Detail: jsontext.Value(`{"online":4}`)},
		},
		Unknown: jsontext.Value(`{"new":1}`),
	}
}

func aRecord() *Record {
	m := aMessage()
	return &Record{
		Task:   Task{V: CurrentVersion, TaskID: m.TaskID, State: StateCompleted, Phase: PhaseDone, Result: m.Payload, Unknown: m.Unknown},
		Tenant: DefaultTenant, Hops: m.Hops, Message: Payload(`{"capability":"echo"}`), First: 3,
	}
}

func TestWhatIsReadInPart(t *testing.T) {
	t.Parallel()
	message, record := MustEncode(aMessage()), MustEncode(aRecord())
	ran, head, end := new(ReachMessage), new(ReachMessage), new(Record)
	for _, err := range []error{DecodeTask(message, ran), DecodeHead(message, head), DecodeEnd(record, end)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := aMessage()
	want.TaskID, want.Hops = ran.TaskID, nil
	if diff := cmp.Diff(want, ran); diff != "" {
		t.Errorf("whoever runs it (-want +got)\n%s", diff)
	}
	want.Payload, want.Metadata, want.Tags = nil, nil, nil
	if diff := cmp.Diff(want, head); diff != "" {
		t.Errorf("whoever follows it (-want +got)\n%s", diff)
	}
	last := aRecord()
	last.TaskID, last.Hops, last.Message = end.TaskID, nil, nil
	if diff := cmp.Diff(last, end); diff != "" {
		t.Errorf("whoever follows its end (-want +got)\n%s", diff)
	}
	if DecodeTask([]byte(`{"hops":[}`), ran) == nil || DecodeHead([]byte(`{"task_id":1}`), head) == nil {
		t.Error("what is no message is read")
	}
}

func BenchmarkDecode(b *testing.B) {
	m := aMessage()
	m.Unknown = nil
	message := MustEncode(m)
	for name, decode := range map[string]func([]byte, *ReachMessage) error{
		"all": func(data []byte, m *ReachMessage) error { return Decode(data, m) }, "to run it": DecodeTask, "to follow it": DecodeHead,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = decode(message, new(ReachMessage))
			}
		})
	}
}
