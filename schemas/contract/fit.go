package contract

import (
	"slices"
	"strings"
)

// Fit is how the members of an object and one or more schemas go together: how many members are required and are there, and how
// many more the object has, and are declared. An object that no schema says anything about fits wholly.
type Fit struct {
	Required, Present  int // members that are required; those of them that the object has
	Optional, Declared int // members of the object beyond those; the ones of them that a schema declares
}

// FitOf counts an object's members, by their names, against all of the schemas together. It looks at required and properties of
// each schema's root alone. A nil schema says nothing.
func FitOf(members []string, all ...*Schema) Fit {
	required, declared := make(map[string]bool), make(map[string]bool)
	for _, s := range all {
		for _, p := range s.documents() {
			for _, name := range p.declares.required {
				required[name] = true
			}
			for _, name := range p.declares.properties {
				declared[name] = true
			}
		}
	}
	fit := Fit{Required: len(required)}
	for _, name := range members {
		switch {
		case required[name]:
			fit.Present++
		case len(declared) > 0:
			fit.Optional++
			if declared[name] {
				fit.Declared++
			}
		}
	}
	return fit
}

// Declares reports whether the schema's root names any member: FitOf then needs to know those of the object.
func (s *Schema) Declares() bool {
	for _, p := range s.documents() {
		if len(p.declares.required)+len(p.declares.properties) > 0 {
			return true
		}
	}
	return false
}

// Names reports whether the schema's root declares a member of that name.
func (s *Schema) Names(member string) bool {
	for _, p := range s.documents() {
		if slices.Contains(p.declares.properties, member) {
			return true
		}
	}
	return false
}

// Yields reports whether a value of the schema may be of a format: a type of JSON ("string"), or a media type ("text/markdown") or
// format that the schema names, at its root or for a member of it. said is false where the schema says nothing of the kind.
func (s *Schema) Yields(format string) (yields, said bool) {
	for _, p := range s.documents() {
		stated := p.declares.media
		if isType(format) {
			stated = p.declares.types
		}
		for _, one := range stated {
			yields, said = yields || strings.EqualFold(one, format), true
		}
	}
	return yields, said
}

func (s *Schema) documents() []*part {
	if s == nil {
		return nil
	}
	return s.parts
}

// declared is what the root of a document says of the values as a whole.
type declared struct {
	required, properties []string
	types                []string // of JSON
	media                []string // contentMediaType and format, of the root and its members
}

func declaredBy(document any) declared {
	root, _ := document.(map[string]any)
	d := declared{required: texts(root["required"]), types: texts(root["type"]), media: mediaOf(root)}
	properties, _ := root["properties"].(map[string]any)
	for name, property := range properties {
		d.properties = append(d.properties, name)
		if object, ok := property.(map[string]any); ok {
			d.media = append(d.media, mediaOf(object)...)
		}
	}
	return d
}

func mediaOf(object map[string]any) []string {
	return append(texts(object["contentMediaType"]), texts(object["format"])...)
}

// texts are a text, or those of a list.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, one := range v {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}
