package httpfront_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/front/httpfront"
	"github.com/agentreach/agent-reach/schemas"
)

const marker = "MARKER-7f3a"

func TestMalformedBodiesAreNamedAndNotQuoted(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	tests := []struct{ name, body, reason, field string }{
		{"not JSON", `{"capability": ` + marker, schemas.ReasonNotJSON, `"field"`},
		{"half a body", `{"capability":"echo","payload":"` + marker, schemas.ReasonNotJSON, `"field"`},
		{"two values", `{"capability":"echo"} {"a":"` + marker + `"}`, schemas.ReasonNotJSON, `"field"`},
		{"a member twice", `{"capability":"echo","payload":{"a":1,"a":"` + marker + `"}}`, schemas.ReasonDuplicateName, `"/payload/a"`},
		{"a name twice", `{"capability":"echo","capability":"` + marker + `"}`, schemas.ReasonDuplicateName, `"/capability"`},
		{"invalid UTF-8", "{\"capability\":\"echo\",\"payload\":\"" + marker + "\xff\"}", schemas.ReasonNotJSON, `"/payload"`},
		{"half a surrogate", `{"capability":"echo","payload":"` + marker + `\ud800"}`, schemas.ReasonNotJSON, `"/payload"`},
		{"too deep", `{"capability":"echo","payload":` + deep + `}`, schemas.ReasonTooDeep, `"field":"/payload/0`},
		{"a number no one can hold", `{"capability":"echo","payload":{"n":1e1001}}`, schemas.ReasonBadNumber, `"/payload/n"`},
		{"an endless number", `{"capability":"echo","payload":` + strings.Repeat("1", 1001) + `}`, schemas.ReasonBadNumber, `"/payload"`},
		{"another type", `{"capability":"echo","timeout_ms":"` + marker + `"}`, schemas.ReasonWrongType, `"/timeout_ms"`},
		{"a list", `["` + marker + `"]`, schemas.ReasonWrongType, `"field"`},
		{"nothing", `null`, schemas.ReasonBadValue, `"/capability"`},
		{"neither capability nor intent", `{"payload":"` + marker + `"}`, schemas.ReasonBadValue, `"/capability"`},
		{"blanks", " \n", schemas.ReasonNotJSON, `"field"`},
	}
	b := newBench(t)
	for _, tt := range tests {
		for _, path := range []string{"/v1/tasks", "/v1/reach"} {
			got := b.call(http.MethodPost, path, tt.body)
			if got.status != http.StatusBadRequest || !strings.Contains(got.body, tt.reason) || !strings.Contains(got.body, tt.field) {
				t.Errorf("%s: status %d, body %s", tt.name, got.status, got.body)
			}
			if strings.Contains(got.body, marker) {
				t.Errorf("%s: the body is quoted: %s", tt.name, got.body)
			}
		}
	}
	if calls := b.house.Calls(); len(calls) > 0 {
		t.Errorf("the house was called: %v", calls)
	}
}

func TestUnknownVersionIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/v1/tasks", "/v1/agents", "/v1/capabilities"} {
		if got := b.call(http.MethodPost, path, `{"v":2}`); got.status != 400 || !strings.Contains(got.body, schemas.ReasonVersion) {
			t.Errorf("%s: status %d, body %s", path, got.status, got.body)
		}
	}
}

const testLimit = 4096

func TestSizesAroundTheLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.Limits.PayloadBytes = testLimit })
	payload := func(size int) string { return `"` + strings.Repeat("p", size-2) + `"` }
	whole := testLimit + httpfront.EnvelopeBytes // of a body
	padded := func(size int) string {
		body := `{"capability":"echo","payload":1}`
		return body + strings.Repeat(" ", size-len(body))
	}
	tests := []struct {
		name        string
		body        string
		status      int
		limit, size int
	}{
		{"a payload below the limit", `{"capability":"echo","payload":` + payload(testLimit-1) + `}`, 202, 0, 0},
		{"a payload at the limit", `{"capability":"echo","payload":` + payload(testLimit) + `}`, 202, 0, 0},
		{"a payload beyond the limit", `{"capability":"echo","payload":` + payload(testLimit+1) + `}`, 413, testLimit, testLimit + 1},
		{"a payload ten times the limit", `{"capability":"echo","payload":` + payload(10*testLimit) + `}`, 413, testLimit, 10 * testLimit},
		{"a body below its limit", padded(whole - 1), 202, 0, 0},
		{"a body at its limit", padded(whole), 202, 0, 0},
		{"a body beyond its limit", padded(whole + 1), 413, whole, whole + 1},
		{"a body ten times its limit", padded(10 * whole), 413, whole, 10 * whole},
	}
	for _, tt := range tests {
		got := b.call(http.MethodPost, "/v1/tasks", tt.body)
		if got.status != tt.status {
			t.Errorf("%s: status %d, want %d", tt.name, got.status, tt.status)
		}
		if tt.status == http.StatusRequestEntityTooLarge {
			want := fmt.Sprintf(`"limit_bytes":%d,"size_bytes":%d}`, tt.limit, tt.size)
			if !strings.Contains(got.body, want) || !strings.Contains(got.body, schemas.ReasonPayloadTooLarge) {
				t.Errorf("%s: %s", tt.name, got.body)
			}
		}
	}
}

func TestBodyWithoutASizeIsBoundedToo(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.Limits.PayloadBytes = testLimit })
	limit := testLimit + httpfront.EnvelopeBytes
	for size, status := range map[int]int{limit: http.StatusBadRequest, limit + 1: http.StatusRequestEntityTooLarge} {
		request, err := http.NewRequest(http.MethodPost, b.url+"/v1/tasks", io.LimitReader(spaces{}, int64(size)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		got := b.do(request)
		if got.status != status {
			t.Errorf("%d bytes: status %d, body %s", size, got.status, got.body)
		}
		want := fmt.Sprintf(`"details":{"limit_bytes":%d}`, limit)
		if status == http.StatusRequestEntityTooLarge && !strings.Contains(got.body, want) {
			t.Errorf("%d bytes: %s", size, got.body)
		}
	}
}

type spaces struct{}

func (spaces) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = ' '
	}
	return len(into), nil
}

func TestSlowBodyIsCutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpfront.Config) { c.BodyTimeout = 100 * time.Millisecond })
	silence, speak := io.Pipe()
	defer speak.Close()
	request, err := http.NewRequest(http.MethodPost, b.url+"/v1/tasks", io.MultiReader(strings.NewReader(`{"capability"`), silence))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if got := b.do(request); got.status != http.StatusRequestTimeout || !strings.Contains(got.body, "BODY_TIMEOUT") {
		t.Errorf("status %d, body %s", got.status, got.body)
	}
}

func TestBrokenBodyIsNoFaultOfOurs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	request, err := http.NewRequest(http.MethodPost, b.url+"/v1/tasks", iotest.ErrReader(io.ErrUnexpectedEOF))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if response, err := b.http.Do(request); err == nil {
		response.Body.Close()
		if response.StatusCode >= 500 {
			t.Errorf("status %d", response.StatusCode)
		}
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, header string
		body         string
		status       int
	}{
		{"JSON", "Content-Type: application/json", `{"capability":"echo"}`, 202},
		{"JSON with a charset", "Content-Type: application/json; charset=utf-8", `{"capability":"echo"}`, 202},
		{"JSON of some kind", "Content-Type: application/vnd.reach+json", `{"capability":"echo"}`, 202},
		{"a form, as curl sends it", "Content-Type: application/x-www-form-urlencoded", `{"capability":"echo"}`, 415},
		{"text, as a form can send it", "Content-Type: text/plain", `{"capability":"echo"}`, 415},
		{"text that says JSON", "Content-Type: text/plain; a=application/json", `{"capability":"echo"}`, 415},
		{"an empty form", "Content-Type: application/x-www-form-urlencoded", ``, 415},
		{"nonsense", "Content-Type: ;;", `{"capability":"echo"}`, 415},
		{"nothing", "Content-Type: ", `{"capability":"echo"}`, 415},
		{"packed JSON", "Content-Encoding: gzip", `{"capability":"echo"}`, 415},
	}
	b := newBench(t)
	for _, tt := range tests {
		if got := b.call(http.MethodPost, "/v1/tasks", tt.body, tt.header); got.status != tt.status {
			t.Errorf("%s: status %d, want %d", tt.name, got.status, tt.status)
		}
	}
}
