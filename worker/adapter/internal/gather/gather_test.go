package gather_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/internal/gather"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is so many bytes, of which no two parts are alike.
func text(size int) []byte {
	all := make([]byte, size)
	for i := range all {
		all[i] = byte(i>>16) ^ byte(i>>8) ^ byte(i*7)
	}
	return all
}

func gathered(t *testing.T, want []byte, piece int) (b *gather.Bytes) {
	t.Helper()
	b = new(gather.Bytes)
	for rest := want; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
		if n, err := b.Write(rest[:min(piece, len(rest))]); err != nil || n != min(piece, len(rest)) {
			t.Fatal(n, err)
		}
	}
	return b
}

func TestItIsWhatCame(t *testing.T) {
	for name, size := range map[string]int{"nothing": 0, "a line": 80, "as much as is held": 1 << 20, "a byte more": 1<<20 + 1, "much": 3<<20 + 12345} {
		for _, piece := range []int{32_000, 2 << 20} {
			want := text(size)
			b := gathered(t, want, piece)
			if b.Len() != size {
				t.Errorf("%s: it has %d bytes, want %d", name, b.Len(), size)
			}
			if first := b.Beginning(); !bytes.HasPrefix(want, first) || len(first) < min(size, 64<<10) {
				t.Errorf("%s: it begins with %d bytes that are others, or too few", name, len(first))
			}
			got, err := b.Take()
			if err != nil || !bytes.Equal(got, want) || cap(got) > max(2<<20, size) {
				t.Errorf("%s in pieces of %d: %d bytes with room for %d, %v", name, piece, len(got), cap(got), err)
			}
			if b.Len() != 0 {
				t.Errorf("%s: %d bytes are left", name, b.Len())
			}
		}
	}
}

func TestMuchIsHeldOnce(t *testing.T) {
	const size = 8 << 20
	want := text(size)
	var got []byte
	var err error
	taken := adaptertest.Taken(func() { got, err = gather.All(bytes.NewReader(want), size) })
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if taken > size+4<<20 {
		t.Errorf("%d bytes took %d", size, taken)
	}
}

func TestASmallMessageCostsLittle(t *testing.T) {
	const messages, size = 1000, 300
	want := text(size)
	taken := adaptertest.Taken(func() {
		for range messages {
			if got, err := gather.All(bytes.NewReader(want), 1<<20); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
	})
	if taken > messages*1024 {
		t.Errorf("a message of %d bytes took %d", size, taken/messages)
	}
}

func TestWhatIsReadIsWhatCame(t *testing.T) {
	for name, size := range map[string]int{"nothing": 0, "a line": 80, "as much as one read": 512, "much": 3<<20 + 12345} {
		want := text(size)
		for how, from := range map[string]io.Reader{
			"at once": bytes.NewReader(want), "in halves": iotest.HalfReader(bytes.NewReader(want)), "with its end": iotest.DataErrReader(bytes.NewReader(want)),
		} {
			var b gather.Bytes
			n, err := b.ReadFrom(from)
			got, failed := b.Take()
			if err != nil || failed != nil || n != int64(size) || !bytes.Equal(got, want) {
				t.Errorf("%s, %s: %d of %d bytes, %v, %v", name, how, n, size, err, failed)
			}
		}
	}
}

func TestNoFileIsLeft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	gathered(t, text(2<<20), 64<<10).Drop()
	if _, err := gathered(t, text(2<<20), 64<<10).Take(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWithoutRoomForFilesItIsHeld(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "absent"))
	want := text(3 << 20)
	if got, err := gathered(t, want, 100_000).Take(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestAllTakesALittleMoreThanTheLimit(t *testing.T) {
	got, err := gather.All(bytes.NewReader(text(3<<20)), 2<<20)
	if err != nil || len(got) != 2<<20+1 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestAnErrorBringsTheBeginning(t *testing.T) {
	got, err := gather.All(io.MultiReader(bytes.NewReader([]byte("half")), broken{}), 1<<20)
	if !errors.Is(err, os.ErrDeadlineExceeded) || string(got) != "half" {
		t.Errorf("%q, %v", got, err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }
