package httpfront

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/front/fronttest"
)

func TestPageStyleIsTheOneThatThePolicyAllows(t *testing.T) {
	t.Parallel()
	handler, err := New(Config{Service: fronttest.New()})
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewRecorder()
	handler.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/docs", nil))
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(page.Body.String())
	sum := sha256.Sum256([]byte(style[1]))
	if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(pagePolicy, "'sha256-"+hash+"'") {
		t.Errorf("the style's hash is %s, the policy %s", hash, pagePolicy)
	}
}

func TestEveryStatusOfAnErrorIsDocumented(t *testing.T) {
	t.Parallel()
	documented := map[int]bool{405: true, 505: true} // of no operation
	for _, op := range operations {
		for _, status := range slices.Concat(op.errors, commonErrors) {
			documented[status] = true
			if _, found := problemTexts[status]; !found {
				t.Errorf("%s: %d has no text", op.id, status)
			}
		}
	}
	for _, table := range []map[int]bool{valuesOf(statuses), valuesOf(special), valuesOf(fromAgent)} {
		for status := range table {
			if !documented[status] {
				t.Errorf("%d is not documented by any operation", status)
			}
		}
	}
	for status, about := range problemTexts {
		if got := statusOf(about.example); got != status {
			t.Errorf("the example of %d has status %d", status, got)
		}
	}
}

func valuesOf[K comparable](table map[K]int) map[int]bool {
	found := map[int]bool{}
	for status := range maps.Values(table) {
		found[status] = true
	}
	return found
}
