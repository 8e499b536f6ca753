package schemas

import "github.com/go-json-experiment/json/jsontext"

// Canonical is the form in which two JSON values of the same meaning have the same bytes: members sorted by name, no blanks, the
// shortest escapes in strings. Number literals stay as written, so 1.0 is not 1, and no digit of a large number is lost. The error
// is an *Error with code INVALID_ARGUMENT: what is not one JSON value, or has the same member twice, has no canonical form.
func Canonical(raw []byte) ([]byte, error) {
	form := jsontext.Value(raw).Clone()
	err := form.Format(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false),
		jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return nil, decodeError(err)
	}
	return form, nil
}
