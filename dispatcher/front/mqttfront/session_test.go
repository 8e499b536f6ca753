package mqttfront

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// A device that says more than its session takes in is heard again once that has been dealt with, and takes no more memory meanwhile.
func TestWhatWaitsForASessionIsBounded(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ bytes, most int }{
		"much at a time":   {1 << 20, maxMailBytes >> 20},
		"little at a time": {10, maxMail},
		"all at once":      {maxMailBytes, 1},
		"too much":         {maxMailBytes + 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(&Bridge{cfg: Config{}.withDefaults()}, &device{name: "phone"}, nil)
			heard := 0
			fill := func() (taken int) {
				for s.post(one.bytes, func(*session) { heard++ }) {
					taken++
				}
				return taken
			}
			for range 2 {
				if taken := fill(); taken != one.most {
					t.Fatalf("%d are taken in, want %d", taken, one.most)
				}
				for len(s.mail) > 0 {
					(<-s.mail)(s)
				}
			}
			if heard != 2*one.most || s.waiting.Load() != 0 {
				t.Errorf("%d of %d were heard, and %d bytes are left", heard, 2*one.most, s.waiting.Load())
			}
		})
	}
}

func TestADeviceThatSaysTooMuchDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := &Bridge{flooded: onceAMinute(zerolog.New(&log)), life: context.Background()}
	d := &device{name: "loud"}
	d.session = newSession(b, d, func() {})
	for range maxMail + 1000 {
		b.tell(d, 1, func(*session) {})
	}
	if got := strings.Count(log.String(), "a device says more than can be taken in"); got != 1 {
		t.Errorf("the log has it %d times", got)
	}
}
