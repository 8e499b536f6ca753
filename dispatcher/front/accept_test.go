package front_test

import (
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

const id = "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10"

func TestMessageDropsWhatTheCallerMayNotSay(t *testing.T) {
	t.Parallel()
	const body = `{"capability":"echo","task_id":"` + id + `","tenant":"other","attempt":3,"retry_of":"` + id + `",` +
		`"submitted_at":"2020-01-01T00:00:00.000Z","forget_at":"2020-01-01T00:00:00.000Z","assignment":{"agent_id":"a"},` +
		`"hops":[{"hop":"x"}],"payload":{"n":1.0},"shade":"blue"}`
	anonymous, err := front.Message([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(schemas.MustEncode(anonymous)), `{"v":1,"capability":"echo","payload":{"n":1.0},"shade":"blue"}`; got != want {
		t.Errorf("Message gives %s, want %s", got, want)
	}
	named, err := front.NamedMessage([]byte(body))
	if err != nil || named.TaskID != id {
		t.Errorf("NamedMessage gives task_id %q, %v", named.TaskID, err)
	}
}

func TestTaskQuery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		field      string // of the error; "" if there is none
	}{
		{"nothing lists everything", ``, ""},
		{"an empty query", `{}`, ""},
		{"all there is", `{"state":"failed","capability":"echo","agent_id":"laptop-1","page_size":100,"page_token":"x"}`, ""},
		{"no such state", `{"state":"lost"}`, `"/state"`},
		{"no such capability", `{"capability":"a.b"}`, `"/capability"`},
		{"no such agent", `{"agent_id":">"}`, `"/agent_id"`},
		{"a page that is too long", `{"page_size":101}`, `"/page_size"`},
		{"a page of less than nothing", `{"page_size":-1}`, `"/page_size"`},
		{"a token that no one made", `{"page_token":"\u0000"}`, `"/page_token"`},
		{"an endless token", `{"page_token":"` + strings.Repeat("x", 513) + `"}`, `"/page_token"`},
		{"another version", `{"v":2}`, `"/v"`},
	}
	for _, tt := range tests {
		_, err := front.TaskQuery([]byte(tt.body))
		if (err == nil) != (tt.field == "") || err != nil && string(schemas.AsError(err).Details["field"]) != tt.field {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestTraceRefTakesBothIDs(t *testing.T) {
	t.Parallel()
	for ref, fine := range map[string]bool{
		id: true, strings.Repeat("a", 32): true, strings.Repeat("A", 32): false, strings.Repeat("a", 31): false, "": false, ">": false,
	} {
		if err := front.CheckTraceRef(ref); (err == nil) != fine {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"capability":"echo","payload":{"n":1.0}}`, `{"intent":"Summarise-This","tags":["a"],"v":1}`, `{"v":2}`, `[]`, `null`, `{"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		message, err := front.Message(body)
		if (message == nil) == (err == nil) {
			t.Fatalf("message %v, error %v", message, err)
		}
		if err != nil {
			if code := schemas.AsError(err).Code; code != schemas.InvalidArgument && code != schemas.FailedPrecondition {
				t.Errorf("code %s", code)
			}
			return
		}
		again, err := front.Message(schemas.MustEncode(message))
		if err != nil || string(schemas.MustEncode(again)) != string(schemas.MustEncode(message)) {
			t.Errorf("what was accepted is refused, or read in another way, when it is written again: %v", err)
		}
	})
}

func TestARefusalNamesItsField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, says, want string }{
		{"a word for a number", refusal(front.Message([]byte(`{"capability":"echo","priority":"high"}`))), "priority takes an integer of at most 64 bits"},
		{"an idempotency key that is empty", refusal(front.Message([]byte(`{"capability":"echo","msg_id":""}`))), "msg_id takes 1 to 256 bytes of printable text"},
		{"the same among other blanks", refusal(front.Message([]byte(` { "msg_id" : "" , "capability":"echo"} `))), "msg_id takes 1 to 256 bytes of printable text"},
		{"the same with an escape in its name", refusal(front.Message([]byte(`{"capability":"echo","msg\u005fid":""}`))), "msg_id takes 1 to 256 bytes of printable text"},
		{"a list for a message", refusal(front.Message([]byte(`[]`))), "this field takes an object"},
		{"a state that no task has", refusal(front.TaskQuery([]byte(`{"state":"lost"}`))), "state takes submitted, working, input_required, auth_required, completed, failed, canceled or rejected"},
		{"an entry that is not where it belongs", refusal(front.AddCapability([]byte(`{"id":"word_count"}`))), `capability takes the entry, which has an id: {"capability": {"id": "word_count", …}}`},
	} {
		if tt.says != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.says, tt.want)
		}
	}
}

func TestAKeyThatIsNotGivenIsNone(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no key":                               `{"capability":"echo"}`,
		"null":                                 `{"capability":"echo","msg_id":null}`,
		"an empty one in the caller's payload": `{"capability":"echo","payload":{"msg_id":""}}`,
		"the same with an escape in its name":  `{"capability":"echo","payload":{"msg\u005fid":""}}`,
	} {
		if message, err := front.Message([]byte(body)); err != nil || message.MsgID != "" {
			t.Errorf("%s: %v, %v", name, message, err)
		}
	}
}

func refusal(_ any, err error) string { return schemas.AsError(err).Message }
