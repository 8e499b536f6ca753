package broker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestSetupTriesAgainWhatOnlyNeedsTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"no leader yet", &jetstream.APIError{Code: 503, ErrorCode: 10008}, true},
		{"too few servers yet", &jetstream.APIError{Code: 400, ErrorCode: codeNoPeers}, true},
		{"another process is creating it", fmt.Errorf("look: %w", &jetstream.APIError{Code: 404, ErrorCode: codeNoStream}), true},
		{"no answer", context.DeadlineExceeded, true},
		{"not allowed", &jetstream.APIError{Code: 400, ErrorCode: 10052}, false},
		{"a stream that will not do", errors.New("it is sealed"), false},
	} {
		if got := notReady(tt.err); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
