package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits on JSON that enters from outside. Beyond them no validator or decoder of ours is asked to cope.
const (
	MaxDepth         = 64      // nested objects and arrays
	MaxNumberDigits  = 1000    // digits of one number literal
	MaxNumberPower   = 1000    // absolute decimal exponent of one number literal
	MaxMembers       = 1 << 20 // of one object
	maxPointerLength = 256     // bytes of a JSON pointer that an error may quote
)

// Encode writes v as compact JSON; raw values keep their number and string literals as written. It fails only for values that no
// wire type holds (an invalid raw value, say). A message that there are several of for each task is written faster by its pointer.
func Encode(v any) ([]byte, error) {
	if b := encodeQuickly(v); b != nil {
		return b, nil
	}
	return encode(v)
}

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b, nil
}

// MustEncode is Encode for values built by this program alone; it panics where Encode would fail.
func MustEncode(v any) []byte {
	b, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Decode reads JSON that this house has written. v is a pointer.
func Decode(data []byte, v any) error {
	if decodeQuickly(data, v) {
		return nil
	}
	return decode(data, v)
}

func decode(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("decode %T: %w", v, err)
	}
	return nil
}

// Accept reads JSON from outside: Scan, then Decode. The error is an *Error with code INVALID_ARGUMENT, and details.field where
// the place is known.
func Accept(data []byte, v any) error {
	harmless := plain(data, MaxDepth)
	if !harmless {
		if err := Scan(data); err != nil {
			return err
		}
	}
	if harmless && decodeQuickly(data, v) {
		return nil
	}
	err := json.Unmarshal(data, v) // which finds all else that Scan does
	switch {
	case err == nil:
		return nil
	case harmless:
		if err := scan(data, MaxDepth); err != nil {
			return err
		}
	}
	return decodeError(err)
}

// Scan checks that data is one JSON value within the limits above, without duplicate members or invalid UTF-8. The error is an
// *Error with code INVALID_ARGUMENT and details.field, a JSON pointer.
func Scan(data []byte) error { return scanTo(data, MaxDepth) }

// ScanWithin is Scan for a value that will stand within an object: it may nest one level less.
func ScanWithin(data []byte) error { return scanTo(data, MaxDepth-1) }

func scanTo(data []byte, most int) error {
	if plain(data, most) && jsontext.Value(data).IsValid() {
		return nil
	}
	return scan(data, most)
}

// plain reports at a glance that data is within the limits, if it is JSON at all; where it does not, data has to be looked at again. Most is
// how deep it may nest.
func plain(data []byte, most int) bool {
	if len(data) > MaxMembers && bytes.Count(data, []byte(":")) > MaxMembers {
		return false
	}
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			i = closingQuote(data, i)
		case c == '{', c == '[':
			if depth++; depth > most {
				return false
			}
		case c == '}', c == ']':
			depth--
		case isDigit(c):
			start := i
			for i+1 < len(data) && isDigit(data[i+1]) {
				i++
			}
			if i-start >= plainDigits {
				return false
			}
		case c == 'e' && i > 0 && isDigit(data[i-1]), c == 'E':
			return false // a number with an exponent
		}
	}
	return true
}

// plainDigits is how many digits in a row need no second look: a number has two such rows at most, beside its exponent.
const plainDigits = MaxNumberDigits / 2

// closingQuote is where the string ends that begins at i; the last byte of data if it does not.
func closingQuote(data []byte, i int) int {
	for i++; ; i++ {
		next := bytes.IndexByte(data[i:], '"')
		if next < 0 {
			return len(data) - 1
		}
		i += next
		escapes := 0
		for data[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// scan looks at every token.
func scan(data []byte, most int) error {
	// A buffer is read where it lies.
	return (&Scanner{dec: jsontext.NewDecoder(bytes.NewBuffer(data)), most: most, members: MaxMembers}).rest()
}

// Scanner reads one JSON value of any size token by token, and holds it to what Scan demands.
type Scanner struct {
	dec     *jsontext.Decoder
	most    int // nested objects and arrays
	members int // of one object, at most
	ended   bool
}

// NewScanner reads a value from r.
func NewScanner(r io.Reader) *Scanner {
	return &Scanner{dec: jsontext.NewDecoder(r), most: MaxDepth, members: MaxMembers}
}

// Next is the kind of the next token and, of a name or a scalar, how it is written, until Next is called again. After the last one, and
// nothing but blanks, the error is io.EOF. All others are those of the reader, or an *Error as Scan has them.
func (s *Scanner) Next() (kind jsontext.Kind, raw []byte, err error) {
	if s.ended {
		return 0, nil, s.after()
	}
	switch kind = s.dec.PeekKind(); kind {
	case '{', '[', '}', ']':
		_, err = s.dec.ReadToken()
	default:
		raw, err = s.dec.ReadValue()
	}
	if err != nil {
		return kind, nil, s.problem(err)
	}
	s.ended = s.dec.StackDepth() == 0
	return kind, raw, s.within(kind, raw)
}

// after is io.EOF where nothing follows.
func (s *Scanner) after() error {
	_, err := s.dec.ReadToken()
	var syntactic *jsontext.SyntacticError
	if err == nil || errors.As(err, &syntactic) {
		return invalidJSON(ReasonNotJSON, "", "more follows after the first JSON value")
	}
	return err
}

// problem is what a reader says, or what is wrong with what it has read.
func (s *Scanner) problem(err error) error {
	var syntactic *jsontext.SyntacticError
	if errors.Is(err, io.EOF) || errors.As(err, &syntactic) {
		return decodeError(err)
	}
	return err
}

func (s *Scanner) rest() error {
	for {
		if _, _, err := s.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Offset is how many bytes there are up to the end of the token that was read last.
func (s *Scanner) Offset() int64 { return s.dec.InputOffset() }

// Depth is how many objects and arrays are open.
func (s *Scanner) Depth() int { return s.dec.StackDepth() }

// Name reports whether the token that was read last is the name of a member.
func (s *Scanner) Name() bool {
	within, count := s.dec.StackIndex(s.dec.StackDepth())
	return within == '{' && count%2 == 1
}

// within holds a token to the limits.
func (s *Scanner) within(kind jsontext.Kind, raw []byte) error {
	if s.dec.StackDepth() > s.most {
		return invalidJSON(ReasonTooDeep, s.dec.StackPointer(), fmt.Sprintf("the JSON is nested deeper than %d", MaxDepth))
	}
	if within, count := s.dec.StackIndex(s.dec.StackDepth()); within == '{' && count > 2*int64(s.members) {
		return invalidJSON(ReasonTooManyMembers, s.dec.StackPointer().Parent(), fmt.Sprintf("an object has more than %d members", s.members))
	}
	if kind == '0' {
		if problem := numberProblem(string(raw)); problem != "" {
			return invalidJSON(ReasonBadNumber, s.dec.StackPointer(), problem)
		}
	}
	return nil
}

func numberProblem(literal string) string {
	if digits(literal) > MaxNumberDigits {
		return fmt.Sprintf("a number literal has more than %d digits", MaxNumberDigits)
	}
	_, exponent, found := strings.Cut(strings.ToLower(literal), "e")
	if !found {
		return ""
	}
	power, err := strconv.Atoi(exponent)
	if err != nil || power > MaxNumberPower || power < -MaxNumberPower {
		return fmt.Sprintf("a number has an exponent beyond ±%d", MaxNumberPower)
	}
	return ""
}

func digits(literal string) int {
	count := 0
	for _, c := range []byte(literal) {
		if '0' <= c && c <= '9' {
			count++
		}
	}
	return count
}

// decodeError turns what the decoder says into our words. The decoder may quote input, so its text never goes out.
func decodeError(err error) *Error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return wrongType(semantic)
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return invalidJSON(ReasonDuplicateName, syntactic.JSONPointer, "an object has the same member twice")
		}
		return invalidJSON(ReasonNotJSON, syntactic.JSONPointer, fmt.Sprintf("not valid JSON at byte %d", syntactic.ByteOffset))
	}
	return invalidJSON(ReasonNotJSON, "", "not a JSON value")
}

// wrongType says what belongs where something else was found.
func wrongType(found *json.SemanticError) *Error {
	expected := expectedOf(found.GoType)
	return invalidJSON(ReasonWrongType, found.JSONPointer, "this field takes "+expected).With("expected", expected)
}

func expectedOf(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	if t == reflect.TypeFor[Time]() {
		return "an RFC 3339 time"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return expectedOf(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64:
		return "an integer of at most 64 bits"
	case reflect.Uint64:
		return "a positive integer of at most 64 bits"
	case reflect.Float64:
		return "a number of double precision"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

func invalidJSON(reason string, at jsontext.Pointer, message string) *Error {
	field := string(at)
	if len(field) > maxPointerLength {
		field = field[:maxPointerLength]
	}
	return NewError(InvalidArgument, reason, "%s", message).With("field", strings.ToValidUTF8(field, "\uFFFD"))
}

func jsonKind(kind jsontext.Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return "value"
}
