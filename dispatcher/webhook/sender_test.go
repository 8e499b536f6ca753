package webhook_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/agentreach/agent-reach/dispatcher/webhook"
)

// open is a sender that may call this machine.
func open(t testing.TB, change ...func(*webhook.Config)) *webhook.Sender {
	t.Helper()
	cfg := webhook.Config{
		Secrets:   mustParse(t, newSecret+"\n"+oldSecret+"\n"+asymmetricSecret()),
		Addresses: webhook.Addresses{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		Timeout:   10 * time.Second,
	}
	for _, one := range change {
		one(&cfg)
	}
	sender := webhook.New(cfg)
	t.Cleanup(sender.Close)
	return sender
}

func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func message(url string) webhook.Message {
	return webhook.Message{URL: url, ID: "01a226bf-4900-7b1e-9d54-0f6a3f1f8a10", At: time.Now(), Body: []byte(`{"state":"completed"}`)}
}

func TestReceiversVerifyWhatTheyGet(t *testing.T) {
	t.Parallel()
	type got struct {
		header http.Header
		body   []byte
	}
	taken := make(chan got, 1)
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		taken <- got{r.Header, body}
	})
	if outcome := open(t).Send(t.Context(), message(url+"/hook?x=1")); outcome.Error != nil || outcome.Status != 200 {
		t.Fatalf("%+v", outcome)
	}
	g := <-taken
	if string(g.body) != `{"state":"completed"}` || g.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v", g.body, g.header)
	}
	for _, secret := range []string{newSecret, oldSecret} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(g.body, g.header); err != nil {
			t.Errorf("with %.10s…: %v", secret, err)
		}
		if verifier.Verify(append(g.body, ' '), g.header) == nil {
			t.Error("a body that was changed is verified")
		}
	}
	signatures := strings.Fields(g.header.Get("webhook-signature"))
	signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signatures[2], "v1a,"))
	text := fmt.Sprintf("%s.%s.%s", g.header.Get("webhook-id"), g.header.Get("webhook-timestamp"), g.body)
	if err != nil || !ed25519.Verify(privateKey().Public().(ed25519.PublicKey), []byte(text), signature) {
		t.Errorf("%v: %v", signatures, err)
	}
}

func TestSecretsAreChangedWhileItRuns(t *testing.T) {
	t.Parallel()
	header := make(chan http.Header, 1)
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { header <- r.Header })
	sender := open(t)
	sender.SetSecrets(mustParse(t, oldSecret))
	sender.Send(t.Context(), message(url))
	if got := strings.Fields((<-header).Get("webhook-signature")); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestWhatAReceiverAnswers(t *testing.T) {
	t.Parallel()
	start := time.Now()
	later := start.Add(time.Hour)
	tests := []struct {
		name      string
		status    int
		header    string // of Retry-After, or Location
		reason    string
		retryable bool
		after     time.Duration
	}{
		{"200", 200, "", "", false, 0},
		{"204", 204, "", "", false, 0},
		{"299", 299, "", "", false, 0},
		{"a redirect that turns the POST into a GET", 302, "/elsewhere", "REDIRECT_REFUSED", false, 0},
		{"a redirect to nowhere", 307, "", "REDIRECT_REFUSED", false, 0},
		{"a redirect to itself", 308, "/", "REDIRECT_REFUSED", false, 0},
		{"a redirect to a file", 307, "file:///etc/passwd", "", true, 0},
		{"304", 304, "", "REDIRECT_REFUSED", false, 0},
		{"400", 400, "", "BAD_STATUS", true, 0},
		{"404", 404, "", "BAD_STATUS", true, 0},
		{"410 wants no more", 410, "", "GONE", false, 0},
		{"429 with seconds", 429, "7", "BAD_STATUS", true, 7 * time.Second},
		{"503 with a date", 503, later.UTC().Format(http.TimeFormat), "BAD_STATUS", true, time.Hour},
		{"503 with nonsense", 503, "soon", "BAD_STATUS", true, 0},
		{"500", 500, "", "BAD_STATUS", true, 0},
	}
	sender := open(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Retry-After", tt.header)
					w.Header().Set("Location", tt.header)
				}
				w.WriteHeader(tt.status)
			})
			got := sender.Send(t.Context(), message(url))
			if tt.status < 300 {
				if got.Error != nil || got.Status != tt.status {
					t.Fatalf("%+v", got)
				}
				return
			}
			if got.Error == nil || tt.reason != "" && got.Error.Reason != tt.reason || tt.reason != "" && got.Error.Retryable != tt.retryable {
				t.Errorf("%+v %v", got, got.Error)
			}
			if early := tt.after - got.RetryAfter; early < 0 || early > time.Since(start)+time.Second { // a date has no fractions
				t.Errorf("retry after %v, want %v", got.RetryAfter, tt.after)
			}
		})
	}
}

func TestARedirectIsFollowedAsItIs(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 1)
	target := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- fmt.Sprintf("%s %s %s %q", r.Method, body, r.Header.Get("webhook-id"), r.Header.Get("Referer"))
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusPermanentRedirect)
	})
	m := message(url + "/?token=MARKER")
	if got := open(t).Send(t.Context(), m); got.Error != nil {
		t.Fatal(got.Error)
	}
	if got, want := <-arrived, fmt.Sprintf(`POST %s %s ""`, m.Body, m.ID); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// private listens where nothing may go, and counts who came.
func private(t testing.TB) (url string, visitors *atomic.Int64) {
	t.Helper()
	visitors = new(atomic.Int64)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:   http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ConnState: func(_ net.Conn, s http.ConnState) { visitors.Add(map[http.ConnState]int64{http.StateNew: 1}[s]) },
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String(), visitors
}

func TestPrivateAddressesAreNeverConnectedTo(t *testing.T) {
	t.Parallel()
	url, visitors := private(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	closed := open(t, func(c *webhook.Config) { c.Addresses = webhook.Addresses{} })
	for _, host := range []string{
		"127.0.0.1", "localhost", "localhost.", "LOCALHOST", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "0", "0.0.0.0",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[::127.0.0.1]", "127.0.0.1.", "①②⑦.0.0.1",
	} {
		got := closed.Send(t.Context(), message("http://"+host+":"+port+"/"))
		if got.Error == nil || got.Status != 0 {
			t.Errorf("%s: %+v", host, got)
		}
	}
	if n := visitors.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestARedirectToAPrivateAddressIsNotFollowed(t *testing.T) {
	t.Parallel()
	url, visitors := private(t)
	for _, host := range []string{"127.0.0.3", "[::ffff:127.0.0.3]"} {
		_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
		first := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+host+":"+port+"/latest/meta-data", http.StatusTemporaryRedirect)
		})
		sender := open(t, func(c *webhook.Config) { c.Addresses.Deny = []netip.Prefix{netip.MustParsePrefix("127.0.0.3/32")} })
		got := sender.Send(t.Context(), message(first))
		if got.Error == nil || got.Error.Reason != webhook.ReasonAddress || got.Error.Retryable {
			t.Errorf("%s: %+v", host, got)
		}
	}
	if n := visitors.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestANameThatStandsForAPrivateAddressIsNotCalled(t *testing.T) {
	t.Parallel()
	url, visitors := private(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	sender := open(t, func(c *webhook.Config) {
		c.Addresses = webhook.Addresses{}
		c.Resolver = answering(t, netip.MustParseAddr("127.0.0.1"))
	})
	if problem := sender.Check("http://inside.example.org/"); problem != nil {
		t.Errorf("a name is refused before it is resolved: %v", problem)
	}
	got := sender.Send(t.Context(), message("http://inside.example.org:"+port+"/"))
	if got.Error == nil || got.Error.Reason != webhook.ReasonAddress {
		t.Errorf("%+v", got)
	}
	if n := visitors.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// A name may stand for one address while it is looked at and for another when it is called: what counts is where each connection goes.
func TestANameThatChangesItsAddressIsJudgedAtEachCall(t *testing.T) {
	t.Parallel()
	taken := make(chan string, 8)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		taken <- r.Host
		w.Header().Set("Connection", "close")
	})
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	inside, visitors := private(t)
	_, privatePort, _ := strings.Cut(strings.TrimPrefix(inside, "http://"), ":")
	var address atomic.Pointer[netip.Addr]
	point := func(text string) { a := netip.MustParseAddr(text); address.Store(&a) }
	point("127.0.0.1")
	sender := open(t, func(c *webhook.Config) {
		c.Addresses = webhook.Addresses{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
		c.Resolver = resolving(t, func() netip.Addr { return *address.Load() })
	})
	if got := sender.Send(t.Context(), message("http://moving.example.org:"+port+"/")); got.Error != nil {
		t.Fatalf("while it may be called: %v", got.Error)
	}
	<-taken
	for _, elsewhere := range []string{"127.0.0.2", "10.0.0.1", "169.254.169.254", "0.0.0.0"} {
		point(elsewhere)
		for _, at := range []string{port, privatePort} {
			got := sender.Send(t.Context(), message("http://moving.example.org:"+at+"/"))
			if got.Error == nil || got.Error.Reason != webhook.ReasonAddress || got.Error.Retryable {
				t.Errorf("while it stands for %s: %+v", elsewhere, got)
			}
		}
	}
	if len(taken) > 0 || visitors.Load() > 0 {
		t.Errorf("it was called %d times where it may not be, and another %d times", len(taken), visitors.Load())
	}
	point("127.0.0.1")
	if got := sender.Send(t.Context(), message("http://moving.example.org:"+port+"/")); got.Error != nil {
		t.Errorf("once it is back: %v", got.Error)
	}
}

// answering is a resolver for which every name stands for one address.
func answering(t testing.TB, address netip.Addr) *net.Resolver {
	t.Helper()
	return resolving(t, func() netip.Addr { return address })
}

// resolving is a resolver for which every name stands for the address of the moment.
func resolving(t testing.TB, address func() netip.Addr) *net.Resolver {
	t.Helper()
	server, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		query := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(answerTo(query[:n], address()), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answerTo answers a question for an IPv4 address, and says of any other that there is nothing.
func answerTo(query []byte, address netip.Addr) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	question := query[12 : end+5]
	answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if question[len(question)-3] != 1 { // not an A
		return answer
	}
	answer[7] = 1
	answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4)
	return append(answer, address.AsSlice()...)
}

func TestCheckRefusesWhatIsPlainlyPrivate(t *testing.T) {
	t.Parallel()
	closed := open(t, func(c *webhook.Config) { c.Addresses = webhook.Addresses{} })
	for url, refused := range map[string]bool{
		"https://example.org/hook": false, "http://127.0.0.1:8080/": true, "http://LocalHost/": true, "http://x.localhost./": true,
		"http://[::ffff:10.0.0.1]/": true, "http://[fe80::1%25eth0]/": true, "http://93.184.216.34/": false, "https://169.254.169.254/": true,
	} {
		if problem := closed.Check(url); (problem != nil) != refused {
			t.Errorf("%s: %v", url, problem)
		}
	}
	if problem := open(t).Check("http://localhost:9/"); problem != nil {
		t.Errorf("an allowed address is refused: %v", problem)
	}
}

// TestSlowReceiversAreGivenUp: one never answers, one sends a byte of its header at a time, one says yes and then dribbles.
func TestSlowReceiversAreGivenUp(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		talk    func(net.Conn, <-chan struct{})
		reason  string
		timeout time.Duration
	}{
		{"it never answers", func(_ net.Conn, over <-chan struct{}) { <-over }, webhook.ReasonTimeout, 400 * time.Millisecond},
		{"its header comes byte by byte", func(c net.Conn, over <-chan struct{}) {
			dribble(c, over, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}, webhook.ReasonTimeout, 400 * time.Millisecond},
		{"it says yes, and dribbles", func(c net.Conn, over <-chan struct{}) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
			dribble(c, over, strings.Repeat("x", 10_000))
		}, "", 3 * time.Second},
		{"its header has no end", func(c net.Conn, over <-chan struct{}) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
			for {
				if _, err := io.WriteString(c, strings.Repeat("x", 1<<10)); err != nil {
					return
				}
			}
		}, "CANNOT_CONNECT", time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := talking(t, tt.talk)
			began := time.Now()
			got := open(t, func(c *webhook.Config) { c.Timeout = tt.timeout }).Send(t.Context(), message(url))
			reason := ""
			if got.Error != nil {
				reason = got.Error.Reason
			}
			if reason != tt.reason {
				t.Errorf("%+v", got)
			}
			if took := time.Since(began); took > 2*time.Minute { // all of the dribble takes four times as long
				t.Errorf("it took %v", took)
			}
		})
	}
}

// dribble writes slowly.
func dribble(c net.Conn, over <-chan struct{}, text string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := range text {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if _, err := io.WriteString(c, text[i:i+1]); err != nil {
			return
		}
	}
}

// talking is a receiver that reads a request and then talks as it likes, until the test is over.
func talking(t testing.TB, talk func(net.Conn, <-chan struct{})) (url string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			if request, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, request.Body)
				talk(c, over)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		close(over)
		_ = listener.Close()
		<-ended
	})
	return "http://" + listener.Addr().String()
}

func TestReceiver(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://Example.org/a?b": "https://example.org:443", "http://example.org:80/": "http://example.org:80",
		"HTTP://example.org": "http://example.org:80", "http://[::1]:9/": "http://[::1]:9",
	} {
		if got := webhook.Receiver(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
