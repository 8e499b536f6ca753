package httpfront

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// The guards stand before the routes, in the order in which New names them. Each refuses with a problem, before anything of the
// house is touched.

// harden sets what every answer carries. Only the docs page, which browsers render, relaxes its policy.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses what a browser sends on behalf of another site: no page may act on a house that happens to be in reach.
func sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, schemas.NewError(schemas.PermissionDenied, reasonCrossOrigin, "a web page of another site may not use this API"))
	}))
	return protection.Handler(next)
}

// crowd lets at most limit requests in at once. /healthz is not asked to wait behind the others.
func crowd(limit int) func(http.Handler) http.Handler {
	places := make(chan struct{}, limit)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == healthPath {
				next.ServeHTTP(w, r)
				return
			}
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
				next.ServeHTTP(w, r)
			default:
				e := schemas.NewError(schemas.Unavailable, reasonTooManyRequests, "%d requests are being served already; try again", limit)
				e.RetryAfterMS = 1000
				refuse(w, e)
			}
		})
	}
}

// jsonOnly refuses bodies that are not plain JSON. Since no form can send that type, it is a guard against other sites as well.
func jsonOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e := checkMediaType(r); e != nil {
			refuse(w, e)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func checkMediaType(r *http.Request) *schemas.Error {
	if r.Method != http.MethodPost {
		return nil
	}
	contentType := r.Header.Get("Content-Type")
	if contentType == "" && r.ContentLength == 0 {
		return nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return schemas.NewError(schemas.InvalidArgument, reasonMediaType, "compressed bodies are not accepted: leave Content-Encoding out").
			With("field", "/Content-Encoding")
	}
	if mediaType, _, err := mime.ParseMediaType(contentType); err == nil && isJSON(mediaType) {
		return nil
	}
	return unsupported
}

const jsonType = "application/json"

var unsupported = schemas.NewError(schemas.InvalidArgument, reasonMediaType,
	"the body must be JSON: add the header Content-Type: application/json (curl: -H 'Content-Type: application/json')").
	With("field", "/Content-Type").With("expected", jsonType)

func isJSON(mediaType string) bool {
	return mediaType == jsonType || strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json")
}

// bodyBound bounds a body in size and in time.
type bodyBound struct {
	limit   int64
	timeout time.Duration
	memory  *memory

	oversized func(r *http.Request, size int64) // is told of a body that is refused; size is -1 where it is not known
}

// drainFactor is how much of an oversized body is read and thrown away, in limits, so that a client that sends before it listens
// still hears the refusal.
const drainFactor = 16

func (b bodyBound) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &timedBody{
			ReadCloser: http.MaxBytesReader(w, r.Body, b.limit), connection: http.NewResponseController(w), timeout: b.timeout,
		}
		body.until(time.Now().Add(b.timeout))
		if r.ContentLength > b.limit {
			b.drain(r)
			b.oversized(r, r.ContentLength)
			refuse(w, tooLarge("body", b.limit, r.ContentLength))
			return
		}
		r.Body = body
		if r.ContentLength >= 0 && r.ContentLength <= spoolAbove {
			next.ServeHTTP(w, r)
			return
		}
		spooled, err := spool(r.Context(), b.memory, body)
		if err != nil {
			if errors.As(err, new(*http.MaxBytesError)) {
				b.oversized(r, -1)
			}
			refuse(w, unread(err))
			return
		}
		defer func() { _ = spooled.Close() }()
		r.Body = spooled
		next.ServeHTTP(w, r)
	})
}

// timedBody has to arrive in time, a large one piece by piece. The time ends with the body: a wait that follows may be longer.
type timedBody struct {
	io.ReadCloser
	connection *http.ResponseController
	timeout    time.Duration
	came       int // bytes within this time
}

func (b *timedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.came += n; b.came > bytesInTime {
		b.came = 0
		b.until(time.Now().Add(b.timeout))
	}
	if errors.Is(err, io.EOF) {
		b.until(time.Time{})
	}
	return n, err
}

// until sets the deadline; an error says that the connection has none, as in tests with a recorder.
func (b *timedBody) until(deadline time.Time) { _ = b.connection.SetReadDeadline(deadline) }

// drain spares a caller that waits for 100 Continue: it has not sent anything.
func (b bodyBound) drain(r *http.Request) {
	if r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, drainFactor*b.limit)
	}
}
