package httpfront

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// noSuchVerb is the refusal of a path that would be one but for its verb, as in /v1/tasks/{id}:pause; nil for all others.
func noSuchVerb(path string) *schemas.Error {
	place := strings.LastIndexByte(path, ':')
	if place < 0 || strings.Contains(path[place:], "/") {
		return nil
	}
	verbs := verbsOf(path[:place])
	if len(verbs) == 0 || slices.Contains(verbs, path[place:]) {
		return nil
	}
	return schemas.NewError(schemas.NotFound, reasonNoSuchVerb, "there is no such verb; use POST with %s", strings.Join(verbs, ", ")).
		With("available", verbs)
}

// onlyPosted refuses other methods on the path of a verb, which the route of its noun would take for a name.
func onlyPosted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost || !isVerb(cmp.Or(r.URL.RawPath, r.URL.Path)) {
			next.ServeHTTP(w, r)
			return
		}
		refuseMethod(w, http.MethodPost)
	})
}

// isVerb reports whether a path is that of a verb.
func isVerb(path string) bool {
	place := strings.LastIndexByte(path, ':')
	return place >= 0 && slices.Contains(verbsOf(path[:place]), path[place:])
}

// verbsOf are the verbs that a path takes, each with its colon.
func verbsOf(path string) []string {
	var verbs []string
	for i := range operations {
		noun, verb, found := strings.Cut(operations[i].path, ":")
		if found && operations[i].method == http.MethodPost && fits(path, noun) {
			verbs = append(verbs, ":"+verb)
		}
	}
	slices.Sort(verbs)
	return verbs
}

// fits reports whether a path is one of a pattern, whose {names} stand for anything.
func fits(path, pattern string) bool {
	segments, wanted := strings.Split(path, "/"), strings.Split(pattern, "/")
	return slices.EqualFunc(segments, wanted, func(segment, want string) bool {
		return segment == want || strings.HasPrefix(want, "{") && segment != ""
	})
}
