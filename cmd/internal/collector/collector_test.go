package collector

import "testing"

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		live uint64
		want int
	}{
		{"nothing lives", 0, 400},
		{"a small heap", 10 << 20, 400},
		{"as much as the most allows", 32 << 20, 400},
		{"half of the room", 64 << 20, 200},
		{"as much as the room", Room, 100},
		{"a large heap", 4 << 30, 100},
	} {
		if got := percent(tt.live); got != tt.want {
			t.Errorf("%s: %d %%, want %d", tt.name, got, tt.want)
		}
	}
}
