package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Bounds of what is read of an answer, and of how often it may send us elsewhere.
const (
	maxHeaderBytes = 16 << 10
	maxDrainBytes  = 4 << 10
	drainFor       = 250 * time.Millisecond
	maxRedirects   = 3
	idleConns      = 256
)

// Reasons of a failed attempt that no other part of the house names.
const (
	ReasonAddress   = "ADDRESS_NOT_ALLOWED"
	ReasonTimeout   = "TIMEOUT"
	ReasonBadStatus = "BAD_STATUS"
	ReasonGone      = "GONE"
)

// Config of a Sender. Only Secrets is needed.
type Config struct {
	Secrets   Secrets
	Addresses Addresses
	Timeout   time.Duration // of a whole attempt, redirects included; 15 s
	Connect   time.Duration // of each connection; 3 s
	UserAgent string        // "agent-reach"
	TLS       *tls.Config   // nil: the authorities that the system trusts
	Resolver  *net.Resolver // nil: the system's
}

// Sender posts messages.
type Sender struct {
	addresses Addresses
	timeout   time.Duration
	agent     string
	secrets   atomic.Pointer[Secrets]
	client    *http.Client
}

// New makes a Sender. Close lets go of its idle connections.
func New(cfg Config) *Sender {
	s := &Sender{
		addresses: cfg.Addresses, timeout: cmp.Or(cfg.Timeout, 15*time.Second), agent: cmp.Or(cfg.UserAgent, "agent-reach"),
	}
	s.SetSecrets(cfg.Secrets)
	dialer := &net.Dialer{Timeout: cmp.Or(cfg.Connect, 3*time.Second), Control: s.control, Resolver: cfg.Resolver}
	s.client = &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			Proxy:                  nil, // a proxy would connect in our place, to where we may not
			TLSClientConfig:        cfg.TLS,
			TLSHandshakeTimeout:    dialer.Timeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConns:           idleConns,
			IdleConnTimeout:        30 * time.Second,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: follow,
	}
	return s
}

// SetSecrets signs with other secrets from now on.
func (s *Sender) SetSecrets(secrets Secrets) { s.secrets.Store(&secrets) }

// Close lets go of idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// errAddress says that an address may not be connected to.
var errAddress = errors.New("the address is not allowed")

// control judges every address at the last moment before it is connected to.
func (s *Sender) control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil || !s.addresses.Permit(target.Addr()) {
		return errAddress
	}
	return nil
}

// Check refuses at once a URL that names an address to which nothing may go. What a name stands for shows only when it is connected to.
func (s *Sender) Check(target string) *schemas.Error {
	parsed, err := url.Parse(target)
	if err != nil {
		return schemas.NewError(schemas.InvalidArgument, schemas.ReasonBadValue, "this is no URL")
	}
	host := strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	address, err := netip.ParseAddr(host)
	loopback := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if loopback {
		address, err = netip.MustParseAddr("127.0.0.1"), nil
	}
	if err == nil && !s.addresses.Permit(address) {
		return notAllowed()
	}
	return nil
}

func notAllowed() *schemas.Error {
	e := schemas.NewError(schemas.PermissionDenied, ReasonAddress,
		"the receiver's address is private or otherwise not public; callbacks.allow names those that may be called nevertheless")
	return e
}

// Message is one thing to tell a receiver. ID is the same however often it is told, and holds no full stop.
type Message struct {
	URL  string
	ID   string
	At   time.Time // of this attempt
	Body []byte    // JSON
}

// Outcome of an attempt. The receiver has taken the message if Error is nil.
type Outcome struct {
	Status     int            // of the answer; 0 where there was none
	Error      *schemas.Error // Retryable says whether another attempt may fare better
	RetryAfter time.Duration  // as the receiver wishes; 0 where it has none
}

// Send makes one attempt. It returns as soon as the receiver has answered with a status: what follows is of no interest.
func (s *Sender) Send(ctx context.Context, m Message) Outcome {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return Outcome{Error: permanent(schemas.ReasonBadValue, "the callback's URL cannot be used")}
	}
	request.Header = s.header(m)
	response, err := s.client.Do(request)
	if err != nil {
		return Outcome{Error: s.failure(ctx, err)}
	}
	defer drain(response.Body, cancel)
	return judge(response, m.At)
}

func (s *Sender) header(m Message) http.Header {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", s.agent)
	header.Set("webhook-id", m.ID)
	header.Set("webhook-timestamp", strconv.FormatInt(m.At.Unix(), 10))
	header.Set("webhook-signature", s.secrets.Load().sign(m.ID, m.At, m.Body))
	return header
}

// drain reads the little that lets a connection be used again; whoever is slow about it loses the connection.
func drain(body io.ReadCloser, cancel context.CancelFunc) {
	late := time.AfterFunc(drainFor, cancel)
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, maxDrainBytes)
	_ = body.Close()
}

// errRedirect says that an answer pointed to where a message does not go.
var errRedirect = errors.New("the redirect is not followed")

// follow goes where the message can be sent as it is: by 307 and 308, not from https to http, and not round in circles. The address is
// judged when it is connected to, as any.
func follow(next *http.Request, before []*http.Request) error {
	last := before[len(before)-1]
	kept := next.Method == http.MethodPost && next.Body != nil
	if !kept || len(before) > maxRedirects || last.URL.Scheme == "https" && next.URL.Scheme != "https" || next.URL.User != nil {
		return errRedirect
	}
	next.Header.Del("Referer")
	return nil
}

// failure says why there was no answer. What the network said is not quoted: it would tell a caller what is where behind our walls.
func (s *Sender) failure(ctx context.Context, err error) *schemas.Error {
	var name *net.DNSError
	switch {
	case errors.Is(err, errAddress):
		return notAllowed()
	case errors.Is(err, errRedirect):
		return permanent(schemas.ReasonRedirectRefused,
			"the receiver redirects; only 307 and 308 are followed, %d times, and never from https to http", maxRedirects)
	case errors.Is(ctx.Err(), context.DeadlineExceeded), isTimeout(err):
		return schemas.NewError(schemas.Unavailable, ReasonTimeout, "the receiver did not answer within %v", s.timeout)
	case errors.As(err, &name):
		return schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "the receiver's name cannot be resolved")
	}
	return schemas.NewError(schemas.Unavailable, schemas.ReasonCannotConnect, "the receiver cannot be reached")
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

func permanent(reason, format string, args ...any) *schemas.Error {
	e := schemas.NewError(schemas.FailedPrecondition, reason, format, args...)
	e.Retryable = false
	return e
}

// judge reads a status as Standard Webhooks does: 2xx has taken the message, 410 wants no more of them, all else may do so later.
func judge(response *http.Response, now time.Time) Outcome {
	o := Outcome{Status: response.StatusCode}
	switch {
	case o.Status >= 200 && o.Status < 300:
		return o
	case o.Status == http.StatusGone:
		o.Error = permanent(ReasonGone, "the receiver answered 410: it wants no more messages")
	case o.Status >= 300 && o.Status < 400:
		o.Error = permanent(schemas.ReasonRedirectRefused, "the receiver answered %d, which is not followed", o.Status)
	default:
		o.Error = schemas.NewError(schemas.Unavailable, ReasonBadStatus, "the receiver answered %d", o.Status)
		o.RetryAfter = retryAfter(response.Header.Get("Retry-After"), now)
	}
	return o
}

// retryAfter reads seconds or a date; 0 where it is neither.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(seconds, 0), int(24*time.Hour/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// Receiver names whose turn a URL takes: all that goes to one scheme, host and port shares its limits.
func Receiver(target string) string {
	parsed, err := url.Parse(target)
	if err != nil {
		return ""
	}
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(parsed.Scheme)]
	}
	return fmt.Sprintf("%s://%s", strings.ToLower(parsed.Scheme), net.JoinHostPort(strings.ToLower(parsed.Hostname()), port))
}
