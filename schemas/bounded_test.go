package schemas_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

type details = map[string]jsontext.Value

func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	long := jsontext.Value(`"` + strings.Repeat("x", 30<<10) + `"`)
	tests := []struct {
		name    string
		e, want *schemas.Error
	}{
		{"none is none", nil, nil},
		{
			"what is short stays",
			&schemas.Error{Code: "E7", Reason: "R", Message: "m", Details: details{"a": []byte(`1.0`)}, Unknown: []byte(`{"u":1}`)},
			&schemas.Error{Code: "E7", Reason: "R", Message: "m", Details: details{"a": []byte(`1.0`)}, Unknown: []byte(`{"u":1}`)},
		},
		{
			"long texts are cut between characters",
			&schemas.Error{Code: schemas.Code(strings.Repeat("E", 99)), Reason: strings.Repeat("R", 99), Message: "m" + strings.Repeat("é", 4<<10)},
			&schemas.Error{
				Code: schemas.Code(strings.Repeat("E", 64)), Reason: strings.Repeat("R", 64), Message: "m" + strings.Repeat("é", 2<<10-1),
			},
		},
		{
			"details that are too large go, but for whose error it is",
			&schemas.Error{Code: schemas.Internal, Details: details{"x": long, "origin": []byte(`"agent"`), "agent_code": []byte(`"E7"`)}},
			&schemas.Error{Code: schemas.Internal, Details: details{"origin": []byte(`"agent"`), "agent_code": []byte(`"E7"`)}},
		},
		{"all of them, if need be", &schemas.Error{Code: schemas.Internal, Details: details{"origin": long}}, &schemas.Error{Code: schemas.Internal}},
		{"so do details that are no JSON", &schemas.Error{Code: schemas.Internal, Details: details{"x": []byte(`{`)}}, &schemas.Error{Code: schemas.Internal}},
		{
			"and members that nobody knows",
			&schemas.Error{Code: schemas.Internal, Unknown: jsontext.Value(`{"u":` + string(long) + `}`)}, &schemas.Error{Code: schemas.Internal},
		},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.e.Bounded()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestProgressIsBounded(t *testing.T) {
	t.Parallel()
	half := .5
	long := &schemas.Progress{Fraction: &half, Message: strings.Repeat("x", 2000), Unknown: jsontext.Value(`{"u":"` + strings.Repeat("u", 2000) + `"}`)}
	if diff := cmp.Diff(&schemas.Progress{Fraction: &half, Message: strings.Repeat("x", 1024)}, long.Bounded()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if none := (*schemas.Progress)(nil).Bounded(); none != nil {
		t.Errorf("none is %+v", none)
	}
}
