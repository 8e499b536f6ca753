package subprocess

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRestartDelaysDoubleUpToTheirMax(t *testing.T) {
	t.Parallel()
	k := &keeper{cfg: Config{}.withDefaults()}
	var got []string
	for range 12 {
		k.countDeath(k.notBefore)
		got = append(got, k.delay().String())
	}
	want := []string{"100ms", "200ms", "400ms", "800ms", "1.6s", "3.2s", "6.4s", "12.8s", "25.6s", "30s", "30s", "30s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
