package schemas_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

func TestFormsOfAnOffer(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"an object", `{"id":"summarize","max_concurrency":2}`, `{"id":"summarize","max_concurrency":2}`},
		{"a bare string is the id", `"summarize"`, `{"id":"summarize"}`},
		{"name is taken for id", `{"name":"summarize"}`, `{"id":"summarize"}`},
		{"id outranks name", `{"name":"other","id":"summarize"}`, `{"id":"summarize"}`},
		{"strange members are kept", `{"name":"summarize","newer":{"a":1.0}}`, `{"id":"summarize","newer":{"a":1.0}}`},
		{"a schema stays as written", `{"id":"a","input_schema":{"const":1.0}}`, `{"id":"a","input_schema":{"const":1.0}}`},
		{"idempotent is said or not said", `{"id":"a","idempotent":false}`, `{"id":"a","idempotent":false}`},
		{"a price of zero is a price", `{"id":"a","cost_per_call":0}`, `{"id":"a","cost_per_call":0}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var registration schemas.Registration
			if err := schemas.Accept([]byte(`{"capabilities":[`+tt.text+`]}`), &registration); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(schemas.MustEncode(registration.Capabilities[0]))); diff != "" {
				t.Errorf("encoded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	registration := func(total int, each ...int) *schemas.Registration {
		r := &schemas.Registration{MaxConcurrency: total}
		for i, slots := range each {
			r.Capabilities = append(r.Capabilities, schemas.Offer{ID: string(rune('a' + i)), MaxConcurrency: slots})
		}
		return r
	}
	tests := []struct {
		name         string
		registration *schemas.Registration
		slots, total int
	}{
		{"one where nothing is said", registration(0, 0), 1, 1},
		{"what is said", registration(0, 3), 3, 3},
		{"all capabilities together", registration(0, 3, 2, 0), 3, 6},
		{"bounded at the top", registration(4, 3, 2), 3, 4},
		{"no more than the capabilities have", registration(100, 3, 2), 3, 5},
		{"an agent without capabilities", registration(4), 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.registration.Slots("a"); got != tt.slots {
				t.Errorf("slots of a: %d, want %d", got, tt.slots)
			}
			if got := tt.registration.TotalSlots(); got != tt.total {
				t.Errorf("all slots: %d, want %d", got, tt.total)
			}
			if got := tt.registration.Slots("z"); got != 0 {
				t.Errorf("slots of a capability it does not offer: %d", got)
			}
			if offer := tt.registration.Offer("a"); (offer != nil) != (tt.slots > 0) {
				t.Errorf("offer of a: %v", offer)
			}
		})
	}
}
