package schemas_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// checks are all grammars of names, with the field that a refusal names and something that each accepts.
var checks = map[string]struct {
	check func(string) error
	good  []string
}{
	"capability": {schemas.CheckCapability, []string{"a", "echo", "web_search", "a1_", strings.Repeat("a", 64)}},
	"agent_id":   {schemas.CheckAgentID, []string{"a", "0", "laptop-1", "a--b", strings.Repeat("a", 63)}},
	"tenant":     {schemas.CheckTenant, []string{schemas.DefaultTenant, "t0", "acme-eu"}},
	"group":      {schemas.CheckGroup, []string{"default", "g1"}},
	"task_id":    {schemas.CheckTaskID, []string{"01a226bf-4900-7b1e-9d54-0f6a3f1f8a10", "ffffffff-ffff-7fff-bfff-ffffffffffff"}},
}

// Names that would be patterns, separators or surprises in a subject, a key, a topic or a path.
var strangeNames = []string{
	"", ">", "*", "a.b", "a..b", ".", "a.", ".a", "a b", " a", "a ", "..%2f..", "../a", "%3E", "a%00b", "a\x00b", "a\u200bb", "\u200b",
	"\ufeffa", strings.Repeat("a", 300), "$JS.API.STREAM.LIST", "$JS", "_INBOX.x", "_INBOX", "+", "#", "/", "a/b", "a\\b", "a+", "#a",
	"a\nb", "a\n", "a\tb", "A", "Ä", "ä", "ａ", "a\u0301", "а" /* Cyrillic */, "-", "-a", "a-",
	"a=b", "a:b", "a;b", "a,b", "a'b", `a"b`, "a\xff", "-rf",
}

func TestStrangeNamesPassNowhere(t *testing.T) {
	t.Parallel()
	for field, tt := range checks {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			for _, name := range strangeNames {
				err := tt.check(name)
				if err == nil {
					t.Errorf("%q passes for a %s", name, field)
					continue
				}
				e := refused(t, err)
				if e.Reason != schemas.ReasonBadName || fieldOf(e) != "/"+field {
					t.Errorf("%q: reason %s, field %s", name, e.Reason, fieldOf(e))
				}
				if len(name) > 3 && strings.Contains(string(schemas.MustEncode(e)), name) {
					t.Errorf("%q is quoted: %s", name, e)
				}
			}
			for _, name := range tt.good {
				if err := tt.check(name); err != nil {
					t.Errorf("%q: %v", name, err)
				}
			}
		})
	}
}

func TestNamesAtTheirBounds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		check func(string) error
		text  string
		good  bool
	}{
		{"a capability of 64", schemas.CheckCapability, strings.Repeat("a", 64), true},
		{"a capability of 65", schemas.CheckCapability, strings.Repeat("a", 65), false},
		{"a capability that starts with a digit", schemas.CheckCapability, "1a", false},
		{"a capability that starts with _", schemas.CheckCapability, "_a", false},
		{"a capability with -", schemas.CheckCapability, "web-search", false},
		{"an agent of 63", schemas.CheckAgentID, strings.Repeat("a", 63), true},
		{"an agent of 64", schemas.CheckAgentID, strings.Repeat("a", 64), false},
		{"an agent with _", schemas.CheckAgentID, "laptop_1", false},
		{"a task in capitals", schemas.CheckTaskID, "01A226BF-4900-7B1E-9D54-0F6A3F1F8A10", false},
		{"a task of version 4", schemas.CheckTaskID, "01a226bf-4900-4b1e-9d54-0f6a3f1f8a10", false},
		{"a task of another variant", schemas.CheckTaskID, "01a226bf-4900-7b1e-cd54-0f6a3f1f8a10", false},
		{"a task in braces", schemas.CheckTaskID, "{01a226bf-4900-7b1e-9d54-0f6a3f1f8a10}", false},
		{"a key of 256 bytes", schemas.CheckMsgID, strings.Repeat("a", 256), true},
		{"a key of 257 bytes", schemas.CheckMsgID, strings.Repeat("a", 257), false},
		{"a key of 128 letters of two bytes", schemas.CheckMsgID, strings.Repeat("é", 128), true},
		{"a key of 129 letters of two bytes", schemas.CheckMsgID, strings.Repeat("é", 129), false},
		{"a key may look like a subject", schemas.CheckMsgID, "a.b.> * $JS %3E / + #", true},
		{"a key in Chinese", schemas.CheckMsgID, "订单 7", true},
		{"an empty key", schemas.CheckMsgID, "", false},
		{"a key with a line break", schemas.CheckMsgID, "a\nb", false},
		{"a key with a zero byte", schemas.CheckMsgID, "a\x00b", false},
		{"a key with a zero-width space", schemas.CheckMsgID, "a\u200bb", false},
		{"a key that turns the reading direction", schemas.CheckMsgID, "a\u202eb", false},
		{"a key that is not UTF-8", schemas.CheckMsgID, "a\xffb", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.check(tt.text)
			if (err == nil) != tt.good {
				t.Errorf("got %v", err)
			}
			if err != nil {
				refused(t, err)
			}
		})
	}
}

func TestNewTaskID(t *testing.T) {
	t.Parallel()
	before := time.Now().UnixMilli()
	last := ""
	for range 1000 {
		id := schemas.NewTaskID()
		if err := schemas.CheckTaskID(id); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if id <= last {
			t.Fatalf("%s follows %s", id, last)
		}
		last = id
	}
	if at := schemas.TaskIDTime(last); at < before || at > time.Now().UnixMilli()+1000 {
		t.Errorf("made at %d, says %d", before, at)
	}
}

func TestDerivedTaskID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 10, 0, 0, 123_000_000, time.UTC)
	id := schemas.DerivedTaskID(at, "default", "nightly")
	if err := schemas.CheckTaskID(id); err != nil || schemas.TaskIDTime(id) != at.UnixMilli() {
		t.Errorf("%s: %v, %d", id, err, schemas.TaskIDTime(id))
	}
	if again := schemas.DerivedTaskID(at.In(time.FixedZone("", 3600)), "default", "nightly"); again != id {
		t.Errorf("the same gives %s and %s", id, again)
	}
	for _, other := range []string{
		schemas.DerivedTaskID(at.Add(time.Millisecond), "default", "nightly"), schemas.DerivedTaskID(at, "defaultn", "ightly"),
		schemas.DerivedTaskID(at, "default"),
	} {
		if other == id {
			t.Errorf("%s stands for two things", id)
		}
	}
}

func TestTaskIDTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, id string
		want     int64
	}{
		{"the first 48 bits", "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10", 0x01a226bf4900},
		{"in capitals it is none", "01A226BF-4900-7B1E-9D54-0F6A3F1F8A10", 0},
		{"in braces it is none", "{01a226bf-4900-7b1e-9d54-0f6a3f1f8a10}", 0},
		{"as a URN it is none", "urn:uuid:01a226bf-4900-7b1e-9d54-0f6a3f1f8a10", 0},
		{"version 4 has no time", "01a226bf-4900-4b1e-9d54-0f6a3f1f8a10", 0},
		{"nothing", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := schemas.TaskIDTime(tt.id); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// Whatever passes is one token of a subject, one level of a topic, one segment of a path.
func FuzzNames(f *testing.F) {
	for _, name := range strangeNames {
		f.Add(name)
	}
	token := regexp.MustCompile(`\A[a-z0-9][a-z0-9_-]{0,63}\z`)
	f.Fuzz(func(t *testing.T, name string) {
		for field, tt := range checks {
			if tt.check(name) == nil && !token.MatchString(name) {
				t.Errorf("%q passes for a %s", name, field)
			}
		}
		if schemas.CheckMsgID(name) == nil && (name == "" || len(name) > 256 || strings.ContainsAny(name, "\x00\r\n\t\u200b\u202e")) {
			t.Errorf("%q passes for a msg_id", name)
		}
		if schemas.TaskIDTime(name) != 0 && schemas.CheckTaskID(name) != nil {
			t.Errorf("%q has a time and is no task_id", name)
		}
	})
}
