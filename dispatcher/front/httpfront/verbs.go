package httpfront

import (
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
