package contract

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// survey walks a document before the validator sees it. The validator would miss a bad reference that nothing uses, name no place
// for those it finds, and panic on some numbers.
type survey struct {
	id         string          // the keyword that holds addresses in this draft
	places     map[string]bool // JSON pointers of all schemas
	anchors    map[string]bool
	references []reference
	known      map[string]bool // names of members that the document mentions
}

// reference is a $ref and its kin, with the place it stands at.
type reference struct{ at, target string }

func surveyDocument(document any) (*survey, error) {
	s := &survey{
		id:      idKeyword(document),
		places:  make(map[string]bool),
		anchors: make(map[string]bool),
		known:   make(map[string]bool),
	}
	if err := s.schema("", document); err != nil {
		return nil, err
	}
	for _, r := range s.references {
		if !s.resolves(r.target) {
			return nil, refuse(r.at, "the schema refers to a schema that it does not have")
		}
	}
	return s, nil
}

func (s *survey) schema(at string, value any) error {
	if s.places[at] = true; len(s.places) > MaxSubschemas {
		return refuse(at, "the schema consists of more than %d schemas", MaxSubschemas)
	}
	switch v := value.(type) {
	case bool:
		return nil
	case map[string]any:
		return s.object(at, v)
	}
	if isType(value) {
		return refuse(at, "a schema is an object, true or false; write {\"type\": …}")
	}
	return refuse(at, "a schema is an object, true or false")
}

func (s *survey) object(at string, object map[string]any) error {
	if len(object) > 0 && !hasAny(object, keywords) {
		first := slices.Min(slices.Collect(maps.Keys(object)))
		return refuse(at, "%s", "the schema has no keyword of JSON Schema and would accept everything"+suggestKeyword(first))
	}
	if err := checkUnmixed(at, object); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := s.keyword(pointerTo(at, name), name, object[name], at == ""); err != nil {
			return err
		}
	}
	return s.identity(at, object)
}

func (s *survey) keyword(at, name string, value any, root bool) error {
	switch {
	case referenceKeywords[name]:
		return s.reference(at, value)
	case anchorKeywords[name]:
		return s.anchor(at, value)
	case name == "$schema":
		return checkDraft(at, value, root)
	case name == "pattern":
		return checkPattern(at, value)
	case name == "required":
		s.learn(value)
	case name == "dependentRequired":
		s.learnNamed(value)
	case countKeywords[name]:
		return checkCount(at, value)
	}
	return s.subschemas(at, name, value)
}

func (s *survey) subschemas(at, name string, value any) error {
	switch v := value.(type) {
	case []any:
		if listOfSchemas[name] {
			return s.list(at, v)
		}
	case map[string]any:
		if namedSchemas[name] {
			return s.named(at, name, v)
		}
		if oneSchema[name] {
			return s.schema(at, v)
		}
	case bool:
		if oneSchema[name] {
			return s.schema(at, v)
		}
	}
	return nil
}

func (s *survey) list(at string, values []any) error {
	for i, value := range values {
		if err := s.schema(at+"/"+strconv.Itoa(i), value); err != nil {
			return err
		}
	}
	return nil
}

func (s *survey) named(at, keyword string, values map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, here := values[name], pointerTo(at, name)
		if keyword == "properties" {
			s.known[name] = true
		}
		if keyword == "patternProperties" {
			if err := checkPattern(here, name); err != nil {
				return err
			}
		}
		if _, names := value.([]any); names && keyword == "dependencies" {
			s.learn(value)
			continue
		}
		if err := s.schema(here, value); err != nil {
			return err
		}
	}
	return nil
}

// identity accepts an address of the document as a whole, and nothing that would move references within it elsewhere.
func (s *survey) identity(at string, object map[string]any) error {
	id, ok := object[s.id].(string)
	switch {
	case !ok:
	case strings.HasPrefix(id, "#"):
		s.anchors[id[1:]] = true
	case at != "":
		return refuse(pointerTo(at, s.id), "only the whole schema may have an address")
	}
	return nil
}

func (s *survey) reference(at string, value any) error {
	target, ok := value.(string)
	if !ok || !strings.HasPrefix(target, "#") {
		return refuse(at, "the schema refers to something outside itself; only references that start with # are followed")
	}
	s.references = append(s.references, reference{at, target[1:]})
	return nil
}

func (s *survey) resolves(target string) bool {
	if target == "" || strings.HasPrefix(target, "/") {
		return s.places[plainPointer(strings.TrimSuffix(target, "/"))]
	}
	return s.anchors[target]
}

func (s *survey) anchor(at string, value any) error {
	name, _ := value.(string)
	if s.anchors[name] {
		return refuse(at, "the schema has this anchor twice")
	}
	s.anchors[name] = true
	return nil
}

func (s *survey) learn(value any) {
	names, _ := value.([]any)
	for _, n := range names {
		if name, ok := n.(string); ok {
			s.known[name] = true
		}
	}
}

func (s *survey) learnNamed(value any) {
	lists, _ := value.(map[string]any)
	for name, list := range lists {
		s.known[name] = true
		s.learn(list)
	}
}

func checkDraft(at string, value any, root bool) error {
	if !root {
		return refuse(at, "only the whole schema may name a draft")
	}
	text, _ := value.(string)
	scheme, name, _ := strings.Cut(strings.TrimSuffix(text, "#"), "://")
	if (scheme != "http" && scheme != "https") || !drafts[name] {
		return refuse(at, "this is not one of the standard drafts; https://json-schema.org/draft/2020-12/schema is the newest")
	}
	return nil
}

func checkPattern(at string, value any) error {
	pattern, ok := value.(string)
	if !ok {
		return nil
	}
	if _, err := patternSize(pattern); err != nil {
		return refuse(at, "the pattern is not usable: %v", err)
	}
	return nil
}

// maxCount bounds lengths and numbers of items: beyond it the validator would misread them.
const maxCount = 1 << 31

func checkCount(at string, value any) error {
	number, ok := value.(json.Number)
	if !ok {
		return nil
	}
	if count, err := number.Float64(); err != nil || count > maxCount {
		return refuse(at, "no value has that many; %d is the limit", maxCount)
	}
	return nil
}

// idKeyword is the member that holds an address: id in draft 4, $id since.
func idKeyword(document any) string {
	object, _ := document.(map[string]any)
	if draft, _ := object["$schema"].(string); strings.Contains(draft, "/draft-04/") {
		return "id"
	}
	return "$id"
}
