package dispatcher

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

func TestHopsAreToldOnceAndInOrder(t *testing.T) {
	t.Parallel()
	hop := func(name string, ms int, detail string) schemas.Hop {
		at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
		return schemas.Hop{Hop: name, At: schemas.At(at), By: "d1", Detail: jsontext.Value(detail)}
	}
	submitted, published := hop("submitted", 0, ""), hop("published", 0, "")
	first, second := hop("routed", 0, `{"rule":"capability"}`), hop("routed", 0, `{"rule":"failover"}`)
	retry, due := hop("routed", 3, `{"rule":"retry"}`), hop("routed", 800, `{"rule":"due"}`)
	for _, tt := range []struct {
		name      string
		all, want []schemas.Hop
	}{
		{"none", nil, nil},
		{
			"each phase repeats what came before, within one millisecond",
			[]schemas.Hop{submitted, first, published, retry, submitted, first, published, submitted, first, published, retry, due},
			[]schemas.Hop{submitted, first, published, retry, due},
		},
		{"two decisions of one millisecond are two", []schemas.Hop{first, second, first, second}, []schemas.Hop{first, second}},
		{"a receipt comes late", []schemas.Hop{submitted, due, retry}, []schemas.Hop{submitted, retry, due}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, inOrder(tt.all)); diff != "" {
				t.Errorf("hops (-want +got):\n%s", diff)
			}
		})
	}
}
