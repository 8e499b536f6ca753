package reason_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/worker/adapter/internal/reason"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatIsSaidOfAnError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{
			"nobody listens", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
			"connection refused: is the agent running, and does it listen at this port?",
		},
		{"a name that nobody knows", &net.DNSError{Err: "no such host", Name: "secret.example", IsNotFound: true}, "no such host: is the host's name right?"},
		{
			"an authority that nobody knows", fmt.Errorf("tls: failed to verify certificate: %w", x509.UnknownAuthorityError{}),
			"its certificate is not trusted: does it name this host, and is it in date? SSL_CERT_FILE can name a file of further authorities",
		},
		{
			"bytes of another protocol", errors.New(`Post "http://me:secret@a/": net/http: malformed HTTP response "\x00\x00"`),
			"the port does not speak HTTP/1.1: is this the agent's port, and its transport?",
		},
		{"silence", context.DeadlineExceeded, "no answer in time: is the address right, and does a firewall block the worker?"},
		{"the end of a connection", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), "the agent closed the connection: its own log may say why"},
		{"a number of the system", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EHOSTUNREACH}, "no route to host"},
		{"anything else, without what is around it", fmt.Errorf("dial 10.0.0.7:80: %w", errors.New("out of cheese")), "out of cheese"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := reason.Of(tt.err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
