package schemas

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// FuzzCanonicalPieces holds what is written in pieces of all sizes against what Canonical gives.
func FuzzCanonicalPieces(f *testing.F) {
	for _, seed := range []string{
		`[1.0, 2 ,[], [ 3 ,{"b":1,"a":2}],"x","é"]`, `{"z": [1,2 , 3],"é":1,"\u0061":2,"\ud83d\ude00":3,"\uffee":4,"b":{"d":1,"c":[ ]}}`, ` [ ] `, `{ }`,
		`[{"b":1,"a":{"d":[1, 2],"c":null}} , {"b":1,"a":{"d":[1, 2],"c":null}}]`, `"\u00e4\/"`, `{"a":1,"\u0061":2}`, `[1,]`, `[1`, `{"a":[1}`, `[1e2,-0,9007199254740993]`,
	} {
		f.Add([]byte(seed), 0)
		f.Add([]byte(seed), 8)
	}
	f.Fuzz(func(t *testing.T, raw []byte, piece int) {
		want, wrong := Canonical(raw)
		var got bytes.Buffer
		err := (&canonicalWriter{to: &got, piece: max(0, piece%64)}).value(raw)
		if wrong == nil && (err != nil || !bytes.Equal(got.Bytes(), want)) {
			t.Errorf("%s is written as %s, and not as %s: %v", raw, got.Bytes(), want, err)
		}
	})
}

func TestALargeValueIsWrittenInItsCanonicalForm(t *testing.T) {
	t.Parallel()
	value := []byte(`{"b":[` + strings.Repeat(" 1.0 , ", 400_000) + `2],"a":1}`)
	want, err := Canonical(value)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := WriteCanonical(&got, value); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes are written, want %d: %v", got.Len(), len(want), err)
	}
	if err := WriteCanonical(io.Discard, value[:len(value)-2]); err == nil {
		t.Error("half a value is written")
	}
}
