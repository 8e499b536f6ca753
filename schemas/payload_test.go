package schemas_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/schemas"
)

// secret is in every payload of these tests; no way of printing may show it, as text, as numbers or as hex.
const secret = "hunter2"

var spellingsOfSecret = []string{secret, "68756e74657232", "68 75 6E", "104 117 110", "0x68, 0x75", "%!"}

func secretPayload() schemas.Payload { return schemas.Payload(`{"password":"` + secret + `"}`) }

func checkSilent(t *testing.T, how, printed string) {
	t.Helper()
	for _, spelling := range spellingsOfSecret {
		if strings.Contains(strings.ToLower(printed), strings.ToLower(spelling)) {
			t.Errorf("%s shows the payload: %s", how, printed)
		}
	}
}

func TestPayloadPrintsItsFingerprintAlone(t *testing.T) {
	t.Parallel()
	payload := secretPayload()
	for _, verb := range "vTtbcdoOqxXUeEfFgGsp" {
		for _, flags := range []string{"", "+", "#", " ", "-40", "0", ".3"} {
			format := "%" + flags + string(verb)
			checkSilent(t, format, fmt.Sprintf(format, payload))
			checkSilent(t, format+" of a pointer", strings.ReplaceAll(fmt.Sprintf(format, &payload), "%!", ""))
		}
	}
	if got, want := fmt.Sprintf("%v", payload), "payload(object, 22 bytes)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPayloadWithinOthersStaysSilent(t *testing.T) {
	t.Parallel()
	payload := secretPayload()
	holders := map[string]any{
		"message":  schemas.ReachMessage{Payload: payload},
		"task":     &schemas.Task{Result: payload},
		"record":   schemas.Record{Task: schemas.Task{Result: payload}},
		"result":   schemas.Result{Result: payload},
		"chunk":    schemas.Chunk{Data: payload},
		"offer":    schemas.Offer{Probe: payload},
		"list":     []schemas.Payload{payload},
		"map":      map[string]schemas.Payload{"a": payload},
		"an error": fmt.Errorf("run: %w, %v", schemas.NewError(schemas.Internal, "", "bad %v", payload), payload),
	}
	for name, holder := range holders {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			printed := strings.ReplaceAll(fmt.Sprintf(format, holder), "%!", "") // other fields do not fit every verb
			checkSilent(t, format+" of "+name, printed)
		}
	}
}

func TestPayloadInLogs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := zerolog.New(&out)
	log.Info().Object("payload", secretPayload()).Msg("")
	checkSilent(t, "Object", out.String())
	if want := `{"level":"info","payload":{"kind":"object","bytes":22}}` + "\n"; out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}

// A logger that is handed a struct encodes it as JSON, and JSON is what a Payload is for. That is why the floors ban Any and
// Interface; if this ever fails, they need not.
func TestPayloadInAnyIsShown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := zerolog.New(&out)
	log.Info().Any("message", struct{ P schemas.Payload }{secretPayload()}).Msg("")
	if !strings.Contains(out.String(), secret) {
		t.Errorf("Any has become safe: %s", out.String())
	}
}

func TestPayloadFingerprint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		payload schemas.Payload
		want    string
	}{
		{"absent", nil, "absent"},
		{"null", schemas.Payload("null"), "null, 4 bytes"},
		{"a boolean", schemas.Payload("false"), "boolean, 5 bytes"},
		{"a string", schemas.Payload(`"x"`), "string, 3 bytes"},
		{"a number", schemas.Payload("-1"), "number, 2 bytes"},
		{"a list", schemas.Payload("[]"), "array, 2 bytes"},
		{"an object", schemas.Payload("{}"), "object, 2 bytes"},
		{"no JSON", schemas.Payload("hello"), "value, 5 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.payload.Fingerprint(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPayloadWithEncodingJSON(t *testing.T) {
	t.Parallel()
	type holder struct {
		P schemas.Payload
		Q schemas.Payload
	}
	const text = `{"P":{"id":9007199254740993,"x":[1.0,-0]},"Q":null}`
	var got holder
	if err := stdjson.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	again, err := stdjson.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != text {
		t.Errorf("got %s, want %s", again, text)
	}
	absent, err := stdjson.Marshal(holder{})
	if err != nil || string(absent) != `{"P":null,"Q":null}` {
		t.Errorf("absent payloads: %s, %v", absent, err)
	}
}

func TestEncodeRefusesWhatIsNotJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "hello", `{"a":1`, `{"a":1,"a":2}`, "1 2"} {
		message := &schemas.ReachMessage{Payload: schemas.Payload(raw)}
		if text, err := schemas.Encode(message); err == nil {
			t.Errorf("%q is written as %s", raw, text)
		}
	}
}
