package contract

import (
	"bufio"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

// keptOfString is how many bytes of a long string a skeleton keeps at most; lookAt is how many of the rest are looked at together.
const (
	keptOfString = 4 << 10
	lookAt       = 64 << 10
)

// ErrNoSkeleton says that a value has no skeleton that is much smaller: it has to be checked whole.
var ErrNoSkeleton = errors.New("the value has no small skeleton")

// Skeleton reads one JSON value of any size and gives it back with its long strings cut short: whatever a schema that reads no strings
// says of the skeleton, it says of the value. What is cut off was looked at: no string is taken that is none. The skeleton has at most
// so many bytes, else the error is ErrNoSkeleton, as it is where the name of a member is too long. Every other error is that of r, or an
// *schemas.Error. Whether all else is valid is for Check to find out.
func Skeleton(r io.Reader, most int) ([]byte, error) {
	s := skeleton{in: bufio.NewReaderSize(r, lookAt)}
	for {
		text, err := s.in.ReadSlice('"')
		s.out = append(s.out, text...)
		switch {
		case len(s.out) > most:
			return nil, ErrNoSkeleton
		case errors.Is(err, io.EOF):
			return s.out, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		if err := s.string(); err != nil {
			return nil, err
		}
	}
}

type skeleton struct {
	in      *bufio.Reader
	out     []byte
	scratch []byte
}

// string reads the rest of a string, and its closing quote. Its first piece is kept.
func (s *skeleton) string() error {
	for first, size := true, keptOfString; ; first, size = false, lookAt {
		piece, closed, err := s.piece(size)
		if err != nil {
			return err
		}
		if first {
			s.out = append(s.out, piece...)
		} else if !s.valid(piece) {
			return schemas.NewError(schemas.InvalidArgument, schemas.ReasonNotJSON, "a string is not valid JSON").With("field", "")
		}
		_, _ = s.in.Discard(len(piece)) // it was peeked at
		if closed {
			_, _ = s.in.Discard(1)
			s.out = append(s.out, '"')
			if first {
				return nil
			}
			return s.noName()
		}
	}
}

// piece is the next part of a string, which ends where no escape and no character is cut through, and whether the string ends there.
func (s *skeleton) piece(size int) (piece []byte, closed bool, err error) {
	ahead, err := s.in.Peek(size)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	length, closed := pieceOf(ahead)
	if length == 0 && !closed {
		return nil, false, schemas.NewError(schemas.InvalidArgument, schemas.ReasonNotJSON, "the JSON ends within a string").With("field", "")
	}
	return ahead[:length], closed, nil
}

// pieceOf is how much of a string's bytes stands for itself.
func pieceOf(text []byte) (length int, closed bool) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			return i, true
		case c == '\\':
			n := escapeLen(text[i:])
			if n == 0 {
				return length, false
			}
			i += n
		case c < utf8.RuneSelf:
			i++
		case !utf8.FullRune(text[i:]):
			return length, false
		default:
			_, n := utf8.DecodeRune(text[i:])
			i += n
		}
		length = i
	}
	return length, false
}

// escapeLen is the length of the escape that text begins with, a surrogate together with what follows it; 0 if it is not all there.
func escapeLen(text []byte) int {
	const short, long = 2, 6
	switch {
	case len(text) < short:
		return 0
	case text[1] != 'u':
		return short
	case len(text) < long:
		return 0
	case text[2] != 'd' && text[2] != 'D' || text[3] < '8':
		return long
	case len(text) < 2*long:
		if len(text) > long && text[long] != '\\' || len(text) > long+1 && text[long+1] != 'u' {
			return long // a lone one, which is refused
		}
		return 0
	case text[long] == '\\' && text[long+1] == 'u':
		return 2 * long
	}
	return long
}

func (s *skeleton) valid(piece []byte) bool {
	s.scratch = append(append(append(s.scratch[:0], '"'), piece...), '"')
	return jsontext.Value(s.scratch).IsValid()
}

// noName makes sure that what was cut short is a value.
func (s *skeleton) noName() error {
	for {
		next, err := s.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case next == ':':
			return ErrNoSkeleton
		case next != ' ' && next != '\n' && next != '\r' && next != '\t':
			return s.in.UnreadByte()
		}
	}
}

// stringReaders are the keywords that look into strings. Of const and enum only what is as long as what a skeleton keeps can tell a
// string from the one that was cut short.
var (
	stringReaders = set("contentEncoding", "contentMediaType", "format", "maxLength", "minLength", "pattern", "uniqueItems")
	constants     = set("const", "enum")
)

// ReadsStrings reports whether the schema may tell one long string from another. Then a value has to be checked whole.
func (s *Schema) ReadsStrings() bool {
	if s == nil {
		return false
	}
	for _, p := range s.parts {
		if readsStrings(p.document) {
			return true
		}
	}
	return false
}

func readsStrings(document any) bool {
	switch v := document.(type) {
	case map[string]any:
		for name, value := range v {
			if stringReaders[name] || constants[name] && longest(value) > keptOfString-12 || readsStrings(value) {
				return true
			}
		}
	case []any:
		for _, value := range v {
			if readsStrings(value) {
				return true
			}
		}
	}
	return false
}

// longest is how long the longest string in a value is.
func longest(value any) int {
	most := 0
	switch v := value.(type) {
	case string:
		return len(v)
	case map[string]any:
		for _, one := range v {
			most = max(most, longest(one))
		}
	case []any:
		for _, one := range v {
			most = max(most, longest(one))
		}
	}
	return most
}
