package contract

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"sort"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentreach/agent-reach/schemas"
)

// keptOfString is how many bytes of a long string a skeleton keeps at most; lookAt is how many of the rest are looked at together.
const (
	keptOfString = 1 << 10
	lookAt       = 64 << 10
)

// ErrNoSkeleton says that a value has no skeleton that is much smaller: it has to be checked whole.
var ErrNoSkeleton = errors.New("the value has no small skeleton")

// Skeleton is a JSON value with its long strings cut short: whatever a schema that reads no strings says of it, it says of the value. What
// is cut off was looked at, so that no string is taken that is none, and a digest stands for it: two values of the same meaning have
// skeletons of the same meaning, and those of two others differ. Whether all else is valid is for Check to find out.
type Skeleton struct{ Value []byte }

// ReadSkeleton reads one JSON value of any size. The skeleton has at most so many bytes, else the error is ErrNoSkeleton, as it is where
// the name of a member is too long. Every other error is that of r, or an *schemas.Error.
func ReadSkeleton(r io.Reader, most int) (*Skeleton, error) {
	s := newBones(r)
	for {
		err := s.advance()
		switch {
		case len(s.out) > most:
			return nil, ErrNoSkeleton
		case errors.Is(err, io.EOF):
			return &Skeleton{s.out}, nil
		case err != nil:
			return nil, err
		}
	}
}

// Locate is where in a JSON value of any size a member of the object stands, from its first byte to after its last; false if there is no
// such member. It reads all of the value and holds little of it. The error is ErrNoSkeleton where the name of a member is too long, or the
// names of all are, that of r, or an *schemas.Error, as schemas.Scan has it, for what is no value.
func Locate(r io.Reader, member string) (from, to int64, found bool, err error) {
	s := newBones(r)
	scan := tokens{Scanner: schemas.NewScanner(s)}
	for {
		raw, err := scan.next()
		if errors.Is(err, io.EOF) {
			return s.offset(from), s.offset(to), found, nil
		}
		if err == nil && scan.Depth() == 1 && scan.Name() && isNamed(raw, member) {
			found = true
			from, to, err = scan.extent()
		}
		if err != nil {
			return 0, 0, false, err
		}
	}
}

func isNamed(raw []byte, name string) bool {
	plain, err := jsontext.AppendUnquote(nil, raw)
	return err == nil && string(plain) == name
}

// mostNames is how many bytes the names of open objects may take, which are held so that none comes twice; each takes besideName more
// than it is long.
const (
	mostNames  = 4 << 20
	besideName = 64
)

// tokens are those of a value that is not held.
type tokens struct {
	*schemas.Scanner
	open  []int // what the names take of each object that is open
	names int   // of all
}

func (t *tokens) next() (raw []byte, err error) {
	kind, raw, err := t.Next()
	last := len(t.open) - 1
	switch {
	case err != nil:
		return nil, err
	case kind == '{':
		t.open = append(t.open, 0)
	case kind == '}':
		t.names -= t.open[last]
		t.open = t.open[:last]
	case t.Name():
		t.names += besideName + len(raw)
		t.open[last] += besideName + len(raw)
	}
	if t.names > mostNames {
		return nil, ErrNoSkeleton
	}
	return raw, nil
}

// extent is where the next value begins, and where it ends.
func (t *tokens) extent() (from, to int64, err error) {
	depth := t.Depth()
	raw, err := t.next()
	from = t.Offset() - int64(max(len(raw), len("{")))
	for err == nil && t.Depth() > depth {
		_, err = t.next()
	}
	return from, t.Offset(), err
}

// cut is where a skeleton and its value run apart: what follows at an offset of the one is further on in the other.
type cut struct{ at, further int64 }

// bones are a skeleton while it is made.
type bones struct {
	in   *bufio.Reader
	read int64  // bytes of the value
	out  []byte // of the skeleton, but for those that are gone
	gone int64
	cuts []cut
	at   int   // bytes of out that Read has given
	last error // of the value

	quoted, plain []byte // scratch
}

func newBones(r io.Reader) *bones { return &bones{in: bufio.NewReaderSize(r, lookAt)} }

// Read gives the skeleton as it comes about.
func (s *bones) Read(into []byte) (int, error) {
	if s.at == len(s.out) {
		s.gone += int64(len(s.out))
		s.out, s.at = s.out[:0], 0
	}
	for len(s.out) == 0 && s.last == nil {
		s.last = s.advance()
	}
	if s.at == len(s.out) {
		return 0, s.last
	}
	n := copy(into, s.out[s.at:])
	s.at += n
	return n, nil
}

// advance reads on: to the end of the next string, or a part of what stands before it.
func (s *bones) advance() error {
	text, err := s.in.ReadSlice('"')
	s.out = append(s.out, text...)
	s.read += int64(len(text))
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil
	case err != nil:
		return err
	}
	return s.string()
}

// offset is where in the value something stands that stands in the skeleton between its strings.
func (s *bones) offset(at int64) int64 {
	i := sort.Search(len(s.cuts), func(i int) bool { return s.cuts[i].at > at })
	if i == 0 {
		return at
	}
	return at + s.cuts[i-1].further
}

// string reads the rest of a string, and its closing quote.
func (s *bones) string() error {
	first, closed, err := s.piece(keptOfString)
	if err != nil {
		return err
	}
	if closed {
		s.out = append(append(s.out, first...), '"')
		s.skip(len(first) + 1)
		return nil
	}
	return s.long(first)
}

// long reads a string that may be too long to be kept. How it is escaped makes no difference.
func (s *bones) long(piece []byte) error {
	var kept []byte
	digest, size := sha256.New(), 0
	for closed, err := false, error(nil); ; piece, closed, err = s.piece(lookAt) {
		if err != nil {
			return err
		}
		plain, err := s.unquoted(piece)
		if err != nil {
			return err
		}
		_, _ = digest.Write(plain) // never fails
		size += len(plain)
		if room := keptOfString + utf8.UTFMax - len(kept); room > 0 {
			kept = append(kept, plain[:min(len(plain), room)]...)
		}
		s.skip(len(piece))
		if closed {
			s.skip(1)
			return s.cutShort(kept, size, digest)
		}
	}
}

// cutShort writes what stays of a string. What was longer than what is kept of one stays so.
func (s *bones) cutShort(kept []byte, size int, digest hash.Hash) error {
	long := size > keptOfString
	if long {
		end := keptOfString
		for !utf8.RuneStart(kept[end]) {
			end--
		}
		kept = hex.AppendEncode(kept[:end:end], digest.Sum(nil))
	}
	s.out, _ = jsontext.AppendQuote(s.out[:len(s.out)-1], kept) // it came of an unquoted one
	at := s.gone + int64(len(s.out))
	s.cuts = append(s.cuts, cut{at, s.read - at})
	if long {
		return s.noName()
	}
	return nil
}

func (s *bones) skip(n int) {
	_, _ = s.in.Discard(n) // it was peeked at
	s.read += int64(n)
}

// unquoted is what a piece of a string stands for.
func (s *bones) unquoted(piece []byte) ([]byte, error) {
	s.quoted = append(append(append(s.quoted[:0], '"'), piece...), '"')
	var err error
	if s.plain, err = jsontext.AppendUnquote(s.plain[:0], s.quoted); err != nil {
		return nil, schemas.NewError(schemas.InvalidArgument, schemas.ReasonNotJSON, "a string is not valid JSON").With("field", "")
	}
	return s.plain, nil
}

// piece is the next part of a string, which ends where no escape and no character is cut through, and whether the string ends there.
func (s *bones) piece(size int) (piece []byte, closed bool, err error) {
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

// noName makes sure that what was cut short is a value.
func (s *bones) noName() error {
	for {
		next, err := s.in.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case next[0] == ':':
			return ErrNoSkeleton
		case next[0] != ' ' && next[0] != '\n' && next[0] != '\r' && next[0] != '\t':
			return nil
		}
		s.out = append(s.out, next[0])
		s.skip(1)
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
