package align_test

import (
	"testing"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/align"
)

func both(spellings ...schemas.Spelling) *align.Pair {
	return align.New(&schemas.Alignment{Input: spellings, Output: spellings})
}

func TestWhatIsTranslated(t *testing.T) {
	t.Parallel()
	name := schemas.Spelling{At: "/max_size", Name: "maxSize"}
	seconds := schemas.Spelling{At: "/at", TimeFrom: schemas.TimeText, TimeTo: schemas.TimeSeconds}
	millis := schemas.Spelling{At: "/at", TimeFrom: schemas.TimeText, TimeTo: schemas.TimeMillis}
	fraction := schemas.Spelling{At: "/at", TimeFrom: schemas.TimeText, TimeTo: schemas.TimeFraction}
	level := schemas.Spelling{At: "/level", Enum: map[string]string{"low": "LOW"}}
	for _, tt := range []struct {
		name        string
		spelling    schemas.Spelling
		there, back string // the capability's words, the agent's
	}{
		{"a name", name, `{"max_size":1}`, `{"maxSize":1}`},
		{
			"nothing but the name: blanks, literals, escapes and other members stay", name,
			"{ \"a\\u0062\" : 1e400,\n\t\"max_size\" :  9007199254740993 , \"max_sizes\":[1.0, -0]} ",
			"{ \"a\\u0062\" : 1e400,\n\t\"maxSize\" :  9007199254740993 , \"max_sizes\":[1.0, -0]} ",
		},
		{"both names are exchanged", name, `{"max_size":1,"maxSize":2}`, `{"maxSize":1,"max_size":2}`},
		{"the same name elsewhere is not meant", name, `{"a":{"max_size":1}}`, `{"a":{"max_size":1}}`},
		{"an instant in whole seconds", seconds, `{"at":"2026-11-29T10:00:00.000Z"}`, `{"at":1795946400}`},
		{"one that whole seconds cannot hold stays", seconds, `{"at":"2026-11-29T10:00:00.500Z"}`, `{"at":"2026-11-29T10:00:00.500Z"}`},
		{"an instant in milliseconds", millis, `{"at":"2026-11-29T10:00:00.250Z"}`, `{"at":1795946400250}`},
		{"an instant with a fraction", fraction, `{"at":"2026-11-29T10:00:00.1234567Z"}`, `{"at":1795946400.1234567}`},
		{"an instant before 1970", fraction, `{"at":"1969-12-31T23:59:58.500Z"}`, `{"at":-1.5}`},
		{"finer than a nanosecond stays", fraction, `{"at":"2026-11-29T10:00:00.1234567891Z"}`, `{"at":"2026-11-29T10:00:00.1234567891Z"}`},
		{"what is no instant stays", seconds, `{"at":"tomorrow"}`, `{"at":"tomorrow"}`},
		{"null stays", seconds, `{"at":null}`, `{"at":null}`},
		{"a constant", level, `{"level":"low"}`, `{"level":"LOW"}`},
		{"a constant that is not known stays", level, `{"level":"medium"}`, `{"level":"medium"}`},
		{"a list where an object was expected stays", name, `[{"max_size":1}]`, `[{"max_size":1}]`},
		{"each element of a list", schemas.Spelling{At: "/*/a_b", Name: "aB"}, `[{"a_b":1},2,{"a_b":[]}]`, `[{"aB":1},2,{"aB":[]}]`},
		{"the whole value", schemas.Spelling{At: "", Enum: map[string]string{"low": "LOW"}}, `"low"`, `"LOW"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pair := both(tt.spelling)
			if got := string(pair.Payload([]byte(tt.there))); got != tt.back {
				t.Errorf("there: %s, want %s", got, tt.back)
			}
			if got := string(pair.Result([]byte(tt.back))); got != tt.there {
				t.Errorf("back: %s, want %s", got, tt.there)
			}
			if got := string(pair.AgentResult([]byte(tt.there))); got != tt.back {
				t.Errorf("a result there: %s, want %s", got, tt.back)
			}
		})
	}
}

func TestAnInstantKeepsItsMoment(t *testing.T) {
	t.Parallel()
	pair := both(schemas.Spelling{At: "/at", TimeFrom: schemas.TimeText, TimeTo: schemas.TimeSeconds})
	there := pair.Payload([]byte(`{"at":"2026-11-29T12:00:00+02:00"}`))
	if got := string(pair.Result(there)); got != `{"at":"2026-11-29T10:00:00.000Z"}` {
		t.Errorf("got %s", got)
	}
}

func TestWhatIsNotJSONIsLeftAlone(t *testing.T) {
	t.Parallel()
	pair := both(schemas.Spelling{At: "/a_b", Name: "aB"})
	for _, value := range []string{``, `{"a_b":1`, `{"a_b":1,"a_b":2}`, `{"a_b":}`, `nonsense`} {
		if got := string(pair.Payload([]byte(value))); got != value {
			t.Errorf("%q became %q", value, got)
		}
	}
}

func TestAPairOfNothingIsNone(t *testing.T) {
	t.Parallel()
	var none *align.Pair
	if align.New(nil) != none || align.New(&schemas.Alignment{}) != none {
		t.Error("an alignment without spellings makes a pair")
	}
	if got := string(none.Payload([]byte(`1`))) + string(none.Result([]byte(`2`))) + string(none.AgentResult([]byte(`3`))); got != "123" {
		t.Errorf("got %s", got)
	}
}
