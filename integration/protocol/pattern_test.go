package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// names are what a script's $words stand for.
type names map[string]any

// fill replaces every $word of a value.
func (n names) fill(value any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		filled := make(map[string]any, len(value))
		for key, member := range value {
			var err error
			if filled[key], err = n.fill(member); err != nil {
				return nil, err
			}
		}
		return filled, nil
	case []any:
		filled := make([]any, len(value))
		for i, member := range value {
			var err error
			if filled[i], err = n.fill(member); err != nil {
				return nil, err
			}
		}
		return filled, nil
	case string:
		if !strings.HasPrefix(value, "$") {
			return value, nil
		}
		known, found := n[value]
		if !found {
			return nil, fmt.Errorf("%s stands for nothing yet", value)
		}
		return known, nil
	}
	return value, nil
}

// match says why a value is not what the pattern wants; nil if it is. An object may have more members than its pattern, an array no
// more elements. "absent" wants a member not to be there, "any" takes anything, and a $word that stands for nothing yet is given
// the value it meets: with no match, none is.
func (n names) match(pattern, value any) error {
	fresh := make(names)
	if err := n.matchAt("", pattern, value, fresh); err != nil {
		return err
	}
	for word, meaning := range fresh {
		n[word] = meaning
	}
	return nil
}

func (n names) matchAt(at string, pattern, value any, fresh names) error {
	switch pattern := pattern.(type) {
	case map[string]any:
		return n.matchObject(at, pattern, value, fresh)
	case []any:
		return n.matchArray(at, pattern, value, fresh)
	case string:
		if pattern == "any" {
			return nil
		}
		if strings.HasPrefix(pattern, "$") {
			return n.matchWord(at, pattern, value, fresh)
		}
	}
	return same(at, pattern, value)
}

func (n names) matchObject(at string, pattern map[string]any, value any, fresh names) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no object", at)
	}
	for key, wanted := range pattern {
		got, found := object[key]
		switch {
		case wanted == "absent" && found:
			return fmt.Errorf("%s/%s is there", at, key)
		case wanted == "absent":
		case !found:
			return fmt.Errorf("%s/%s is absent", at, key)
		default:
			if err := n.matchAt(at+"/"+key, wanted, got, fresh); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n names) matchArray(at string, pattern []any, value any, fresh names) error {
	array, ok := value.([]any)
	if !ok || len(array) != len(pattern) {
		return fmt.Errorf("%s is %s, which has not %d elements", at, encode(value), len(pattern))
	}
	for i := range pattern {
		if err := n.matchAt(fmt.Sprintf("%s/%d", at, i), pattern[i], array[i], fresh); err != nil {
			return err
		}
	}
	return nil
}

func (n names) matchWord(at, word string, value any, fresh names) error {
	for _, known := range []names{n, fresh} {
		if meaning, found := known[word]; found {
			return same(at, meaning, value)
		}
	}
	fresh[word] = value
	return nil
}

func same(at string, want, got any) error {
	if bytes.Equal(encode(want), encode(got)) {
		return nil
	}
	return fmt.Errorf("%s is %s, want %s", at, encode(got), encode(want))
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // what was read as JSON is written as JSON
	}
	return text
}

func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// merge puts the members of more into an object, and into the objects in it.
func merge(object, more map[string]any) map[string]any {
	for key, value := range more {
		inner, isObject := value.(map[string]any)
		if old, wasObject := object[key].(map[string]any); isObject && wasObject {
			object[key] = merge(old, inner)
		} else {
			object[key] = value
		}
	}
	return object
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, pattern, value, problem string
	}{
		{"more members do not matter", `{"a":1}`, `{"a":1,"b":2}`, ""},
		{"a member is missing", `{"a":1}`, `{"b":2}`, "/a is absent"},
		{"another value", `{"a":{"b":1}}`, `{"a":{"b":2}}`, "/a/b is 2, want 1"},
		{"a member that must not be there", `{"a":"absent"}`, `{"a":null}`, "/a is there"},
		{"anything", `{"a":"any"}`, `{"a":[1]}`, ""},
		{"more elements do matter", `{"a":[1]}`, `{"a":[1,2]}`, "/a is [1,2], which has not 1 elements"},
		{"a word with a meaning", `{"a":"$known"}`, `{"a":7}`, ""},
		{"a word with another meaning", `{"a":"$known"}`, `{"a":8}`, "/a is 8, want 7"},
		{"a word that gets its meaning", `{"a":"$new","b":"$new"}`, `{"a":"x","b":"x"}`, ""},
		{"a word cannot get two meanings", `{"a":["$new","$new"]}`, `{"a":[1,2]}`, "/a/1 is 2, want 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			known := names{"$known": json.Number("7")}
			pattern, err := decode([]byte(tt.pattern))
			check(t, err)
			value, err := decode([]byte(tt.value))
			check(t, err)
			if err := known.match(pattern, value); (err == nil) != (tt.problem == "") || err != nil && err.Error() != tt.problem {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
			if _, given := known["$new"]; given && tt.problem != "" {
				t.Error("what does not match gave a word its meaning")
			}
		})
	}
}
