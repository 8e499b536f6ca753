package httpfront

import (
	"io"
	"net/http"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// serveRanges answers with JSON, whole or in the ranges that were asked for, as net/http does; but what it refuses is a problem, as
// everywhere here.
func serveRanges(w http.ResponseWriter, r *http.Request, modified time.Time, content io.ReadSeeker) {
	w.Header().Set("Content-Type", jsonType)
	http.ServeContent(&problematic{ResponseWriter: w}, r, "", modified, content)
}

// problematic writes a problem in place of every error.
type problematic struct {
	http.ResponseWriter
	failed bool
}

// WriteHeader leaves the header Content-Range, which says how much there is.
func (p *problematic) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		p.ResponseWriter.WriteHeader(status)
		return
	}
	p.failed = true
	refuse(p.ResponseWriter, rangeError(status))
}

// Write drops the text of what was refused.
func (p *problematic) Write(b []byte) (int, error) {
	if p.failed {
		return len(b), nil
	}
	return p.ResponseWriter.Write(b)
}

// rangeError is what net/http finds wrong with a request for ranges.
func rangeError(status int) *schemas.Error {
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		const expected = "bytes=FIRST-LAST, of bytes that are there"
		return schemas.NewError(schemas.OutOfRange, reasonRange, "Range takes %s", expected).
			With("field", "/Range").With("expected", expected)
	case http.StatusPreconditionFailed:
		return schemas.NewError(schemas.FailedPrecondition, reasonPrecondition, "If-Match or If-Unmodified-Since does not hold")
	}
	return schemas.NewError(schemas.Internal, "", "it could not be read")
}
