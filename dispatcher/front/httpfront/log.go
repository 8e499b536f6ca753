package httpfront

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"
)

// answer watches one response: what was sent, and that a reader which has stopped reading does not hold it for ever.
type answer struct {
	http.ResponseWriter
	status  int
	bytes   int64
	went    int // bytes within this time
	timeout time.Duration
}

// Unwrap serves http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader starts the time in which the answer has to be taken. Waiting for a task happens before, and has its own limit.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
		a.more()
	}
	a.ResponseWriter.WriteHeader(status)
}

// more gives an answer, or the rest of a large one, its time. An error says that the connection has no deadlines, as in tests with a
// recorder.
func (a *answer) more() {
	a.went = 0
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.timeout))
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	if a.went += n; a.went > bytesInTime {
		a.more()
	}
	return n, err
}

// watch logs each request at debug level, and turns a panic into a problem. A log line has the route, never the path, the query, a
// header or a body: they may hold secrets.
func watch(logger zerolog.Logger, timeout time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			a := &answer{ResponseWriter: w, timeout: timeout}
			defer func() {
				logger.Debug().Str("method", method(r)).Str("route", route(r)).Int("status", a.status).Int64("bytes", a.bytes).
					Dur("took", time.Since(start)).Msg("request")
			}()
			defer a.recover(logger, r)
			next.ServeHTTP(a, r)
		})
	}
}

// recover answers a panic with INTERNAL. Once an answer has begun, all that is left is to break the connection.
func (a *answer) recover(logger zerolog.Logger, r *http.Request) {
	value := recover()
	if value == nil {
		return
	}
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	logger.Error().Str("route", route(r)).Str("panic", panicText(value)).Bytes("stack", debug.Stack()).Msg("panic")
	if a.status != 0 {
		panic(http.ErrAbortHandler)
	}
	refuse(a, schemas.AsError(fmt.Errorf("panic in %s", route(r))))
}

// panicText is the text of a fault that the runtime found, and only the type of any other value, which may hold anything.
func panicText(value any) string {
	if fault, ok := value.(interface {
		error
		RuntimeError()
	}); ok {
		return fault.Error()
	}
	return fmt.Sprintf("%T", value)
}

// route is the pattern that a request met; empty where there is none.
func route(r *http.Request) string {
	if route := chi.RouteContext(r.Context()); route != nil {
		return route.RoutePattern()
	}
	return ""
}

// method is the request's method, unless it is one that nobody has heard of.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "other"
}
