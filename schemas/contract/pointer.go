package contract

import (
	"net/url"
	"strconv"
	"strings"
)

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// pointerTo is the JSON pointer to a member of what parent points to.
func pointerTo(parent, name string) string { return parent + "/" + escaper.Replace(name) }

// pointerOf is the JSON pointer of these names.
func pointerOf(names []string) string {
	var pointer string
	for _, name := range names {
		pointer = pointerTo(pointer, name)
	}
	return pointer
}

// namesOf takes a pointer apart whose tokens are also percent-encoded, as in a fragment and in all that the validator says.
func namesOf(fragment string) []string {
	if fragment == "" {
		return nil
	}
	names := strings.Split(strings.TrimPrefix(fragment, "/"), "/")
	for i, name := range names {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		names[i] = unescaper.Replace(name)
	}
	return names
}

// plainPointer takes the percent-encoding away.
func plainPointer(fragment string) string { return pointerOf(namesOf(fragment)) }

// lookup follows names into a decoded value.
func lookup(value any, names []string) (any, bool) {
	for _, name := range names {
		var found bool
		if value, found = member(value, name); !found {
			return nil, false
		}
	}
	return value, true
}

func member(value any, name string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		inner, found := v[name]
		return inner, found
	case []any:
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}
