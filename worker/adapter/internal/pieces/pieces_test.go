package pieces_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/internal/pieces"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAValueIsTheLastMember(t *testing.T) {
	t.Parallel()
	large := `"` + strings.Repeat("x", 100_000) + `"`
	type object struct {
		ID string `json:"id,omitzero"`
	}
	for _, tt := range []struct {
		name, value, want string
		of                object
	}{
		{"of several", `[1.0, 2]`, `{"id":"a","payload":[1.0, 2]}`, object{"a"}},
		{"alone", `null`, `{"payload":null}`, object{}},
		{"of a large message", large, `{"id":"a","payload":` + large + `}`, object{"a"}},
	} {
		m, err := pieces.With(&tt.of, "payload", []byte(tt.value))
		if err != nil {
			t.Fatal(err)
		}
		read, err := io.ReadAll(m.Reader())
		if string(read) != tt.want || string(m.Whole()) != tt.want || m.Len() != len(tt.want) || err != nil {
			t.Errorf("%s: %.80s, %.80s, %d bytes, %v", tt.name, read, m.Whole(), m.Len(), err)
		}
	}
	if _, err := pieces.With(map[string]any{"a": schemas.Payload("{")}, "payload", []byte("1")); err == nil {
		t.Error("what is no JSON is an object")
	}
}

func TestThePayloadIsNotCopied(t *testing.T) {
	t.Parallel()
	payload := []byte(`"x"`)
	m, err := pieces.With(struct{}{}, "payload", payload)
	if err != nil {
		t.Fatal(err)
	}
	payload[1] = 'y' // which nobody does
	if got := string(m.Whole()); got != `{"payload":"y"}` {
		t.Errorf("it has a copy: %s", got)
	}
}

func TestALineHasOneEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000)
	m := pieces.Message{[]byte(`{"a":`), []byte("[\r\n1,\n\"" + long + "\",\n2]"), []byte("}")}
	var out bytes.Buffer
	n, err := m.WriteLine(&out)
	want := `{"a":[  1, "` + long + `", 2]}` + "\n"
	if out.String() != want || n != len(want) || err != nil {
		t.Errorf("%.80q, %d of %d bytes, %v", out.String(), n, len(want), err)
	}
	if string(m[1][:3]) != "[\r\n" {
		t.Error("the value was changed")
	}
}

func TestASmallLineIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	m := pieces.Message{[]byte(`{"a":`), []byte("[1,\n2]"), []byte("}")}
	var to writes
	if n, err := m.WriteLine(&to); n != 13 || err != nil || len(to) != 1 || to[0] != "{\"a\":[1, 2]}\n" {
		t.Errorf("%d bytes in %q, %v", n, to, err)
	}
	if string(m[1]) != "[1,\n2]" {
		t.Error("the value was changed")
	}
}

// writes are what was written each time.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

func TestWhatWasWrittenIsTold(t *testing.T) {
	t.Parallel()
	m := pieces.Of(bytes.Repeat([]byte("x"), 100_000))
	var left room = 70_000
	if n, err := m.WriteLine(&left); n != 70_000 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// room is how many bytes can still be written.
type room int

func (r *room) Write(p []byte) (int, error) {
	n := min(len(p), int(*r))
	*r -= room(n)
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
