package listen_test

import (
	"errors"
	"testing"

	"github.com/agentreach/agent-reach/cmd/internal/listen"
	"github.com/agentreach/agent-reach/schemas"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, address string
		insecure, ok  bool
	}{
		{"loopback", "127.0.0.1:8500", false, true},
		{"all of the loopback range", "127.8.9.1:0", false, true},
		{"loopback of IPv6", "[::1]:8500", false, true},
		{"localhost", "LocalHost:8500", false, true},
		{"every interface", "0.0.0.0:8500", false, false},
		{"every interface of IPv6", "[::]:8500", false, false},
		{"no host is every interface", ":8500", false, false},
		{"a private address", "192.168.1.5:8500", false, false},
		{"a loopback address written as a mapped one", "[::ffff:127.0.0.1]:8500", false, true},
		{"a name could be anything", "broker:8500", false, false},
		{"a name that begins like localhost", "localhost.example.org:8500", false, false},
		{"a number that only looks like loopback", "127.1:8500", false, false},
		{"every interface, as asked for", "0.0.0.0:8500", true, true},
		{"no port", "127.0.0.1", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := listen.Check("the HTTP front", tt.address, tt.insecure)
			if (err == nil) != tt.ok {
				t.Fatalf("Check(%q, %v) = %v", tt.address, tt.insecure, err)
			}
			var refused *schemas.Error
			if err != nil && (!errors.As(err, &refused) || refused.Code != schemas.InvalidArgument) {
				t.Errorf("%v is not INVALID_ARGUMENT", err)
			}
		})
	}
}
