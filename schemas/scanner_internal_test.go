package schemas

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestAScannerCountsTheMembersOfEachObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, field string }{
		{"as many as there may be", `{"a":{"b":1,"c":2,"d":3},"e":[{"f":1},{"g":1}],"h":{}}`, ""},
		{"one more", `{"a":1,"b":2,"c":3,"d":4}`, `""`},
		{"one more within", `[1,{"x":{"a":1,"b":2,"c":3,"d":4}}]`, `"/1/x"`},
		{"elements are no members", `[1,2,3,4,5,6,7,8]`, ""},
	} {
		s := NewScanner(strings.NewReader(tt.value))
		s.members = 3
		err := s.rest()
		var field string
		if problem := AsError(err); err != nil {
			field = string(problem.Details["field"])
		}
		if field != tt.field || err != nil && AsError(err).Reason != ReasonTooManyMembers {
			t.Errorf("%s: %v at %s", tt.name, err, field)
		}
	}
}

func TestAScannerTellsWhereTokensEnd(t *testing.T) {
	t.Parallel()
	s := NewScanner(strings.NewReader(` {"a": [1.50, "x"]} `))
	var got strings.Builder
	for {
		kind, raw, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(kind.String() + string(raw))
		if s.Name() {
			got.WriteString("!")
		}
		got.WriteByte(' ')
	}
	if want := `{ string"a"! [ number1.50 string"x" ] } `; got.String() != want || s.Offset() != 19 || s.Depth() != 0 {
		t.Errorf("tokens are %s, the last ends at %d in depth %d", got.String(), s.Offset(), s.Depth())
	}
}
