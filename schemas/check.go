package schemas

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/go-json-experiment/json/jsontext"
)

// The checks of what enters from outside share this file's small words. Each check names the field by its JSON pointer and says
// what would be accepted; none quotes a value.

// maxLimit bounds every time span that a message may ask for.
const maxLimit = 7 * 24 * time.Hour

const (
	maxURLBytes     = 2048
	maxVersionBytes = 256
)

var (
	traceparentForm = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
	traceIDForm     = regexp.MustCompile(`^[0-9a-f]{32}$`)
	sha256Form      = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// firstOf is the first problem of a list of checks; nil if all passed.
func firstOf(problems ...*Error) *Error {
	for _, problem := range problems {
		if problem != nil {
			return problem
		}
	}
	return nil
}

func badValue(field, expected string) *Error {
	name := strings.TrimPrefix(field, "/")
	return NewError(InvalidArgument, ReasonBadValue, "%s takes %s", name, expected).With("field", field).With("expected", expected)
}

// unless is the problem where fine is false.
func unless(fine bool, field, expected string) *Error {
	if fine {
		return nil
	}
	return badValue(field, expected)
}

// at puts the outcome of a check of names to the field where the name stands.
func at(field string, err error) *Error {
	if err == nil {
		return nil
	}
	return AsError(err).With("field", field)
}

// within puts the problem of a part to the field where the part stands.
func within(field string, problem *Error) *Error {
	var below string
	if problem == nil || !problem.Detail("field", &below) {
		return problem
	}
	return problem.With("field", field+below)
}

// ifSet is a check of an optional name.
func ifSet(name, field string, check func(string) error) *Error {
	if name == "" {
		return nil
	}
	return at(field, check(name))
}

func checkVersion(v Version) *Error {
	if v.Understood() {
		return nil
	}
	const message = "v names a wire version that this release does not speak; send %d"
	return NewError(FailedPrecondition, ReasonVersion, message, CurrentVersion).With("field", "/v").With("expected", CurrentVersion)
}

func checkRange(value, low, high int64, field string) *Error {
	if low <= value && value <= high {
		return nil
	}
	return badValue(field, fmt.Sprintf("an integer from %d to %d", low, high))
}

func checkSpan(ms int64, field string) *Error {
	if 0 <= ms && ms <= maxLimit.Milliseconds() {
		return nil
	}
	return badValue(field, fmt.Sprintf("0 to %d milliseconds, which is %d days", maxLimit.Milliseconds(), maxLimit/(24*time.Hour)))
}

func checkText(text string, limit int, field string) *Error {
	if isText(text, limit) {
		return nil
	}
	return badValue(field, fmt.Sprintf("1 to %d bytes of printable text", limit))
}

func checkOptionalText(text string, limit int, field string) *Error {
	if text == "" {
		return nil
	}
	return checkText(text, limit, field)
}

func checkToken(text, field string) *Error {
	return unless(IsToken(text), field, "1 to 64 letters, digits, - and _")
}

func checkOptionalToken(text, field string) *Error {
	if text == "" {
		return nil
	}
	return checkToken(text, field)
}

func checkLength(length, limit int, field string) *Error {
	if length <= limit {
		return nil
	}
	return badValue(field, fmt.Sprintf("at most %d entries", limit))
}

func checkTags(tags []string, field string) *Error {
	if problem := checkLength(len(tags), MaxTags, field); problem != nil {
		return problem
	}
	for i, tag := range tags {
		if !isText(tag, MaxTagBytes) {
			return checkText(tag, MaxTagBytes, fmt.Sprintf("%s/%d", field, i))
		}
	}
	return nil
}

func checkObject(raw jsontext.Value, limit int, field string) *Error {
	if raw == nil || raw.Kind() == jsontext.KindBeginObject && len(raw) <= limit {
		return nil
	}
	return badValue(field, fmt.Sprintf("a JSON object of at most %d bytes", limit))
}

// checkOneOf takes an absent value too: it stands for the default.
func checkOneOf[T ~string](value T, accepted []T, field string) *Error {
	if value == "" || slices.Contains(accepted, value) {
		return nil
	}
	return badValue(field, "one of "+list(accepted))
}

func list[T ~string](words []T) string {
	var text []string
	for _, word := range words {
		text = append(text, string(word))
	}
	return strings.Join(text, ", ")
}

func checkSemver(version, field string) *Error {
	_, err := semver.StrictNewVersion(version)
	return unless(err == nil && len(version) <= maxVersionBytes, field, "a semantic version such as 1.2.0")
}

func checkSemverRange(text, field string) *Error {
	return unless(isSemverRange(text), field, "a range of semantic versions such as >=1.2.0, <2")
}

func isSemverRange(text string) bool {
	if len(text) > maxVersionBytes {
		return false
	}
	_, err := semver.NewConstraint(text)
	return err == nil
}

// checkURL refuses what is not an absolute http or https URL. Credentials do not belong in a URL: it is shown and logged.
func checkURL(text, field string) *Error {
	if isURL(text) {
		return nil
	}
	return badValue(field, fmt.Sprintf("an http or https URL of at most %d bytes, without user name and password", maxURLBytes))
}

func isURL(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && len(text) <= maxURLBytes && (parsed.Scheme == "http" || parsed.Scheme == "https") &&
		parsed.Hostname() != "" && parsed.User == nil
}

// validTraceparent reports whether a header has the form of W3C Trace Context.
func validTraceparent(header string) bool {
	return traceparentForm.MatchString(header) && !strings.HasPrefix(header, "ff") &&
		header[3:35] != strings.Repeat("0", 32) && header[36:52] != strings.Repeat("0", 16)
}

func validTraceID(id string) bool {
	return traceIDForm.MatchString(id) && id != strings.Repeat("0", 32)
}
