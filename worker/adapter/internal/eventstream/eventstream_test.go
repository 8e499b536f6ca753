package eventstream_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/internal/eventstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// readers give a stream as a whole, and byte by byte.
func readers(stream string) map[string]io.Reader {
	return map[string]io.Reader{"whole": strings.NewReader(stream), "by bytes": iotest.OneByteReader(strings.NewReader(stream))}
}

func linesOf(from io.Reader, max int) ([]string, error) {
	lines := eventstream.NewLines(from, max)
	var all []string
	for {
		line, err := lines.Next()
		if err != nil {
			return all, err
		}
		all = append(all, string(line))
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"all three ends", "a\nb\r\nc\rd", []string{"a", "b", "c", "d"}},
		{"blank lines", "\n\r\n\r\ra\n\n", []string{"", "", "", "", "a", ""}},
		{"no end after the last", "a\nb", []string{"a", "b"}},
		{"a byte order mark", "\uFEFFa\n\uFEFFb\n", []string{"a", "\uFEFFb"}},
		{"longer than a buffer", strings.Repeat("x", 40_000) + "\ny", []string{strings.Repeat("x", 40_000), "y"}},
	} {
		for how, from := range readers(tt.stream) {
			got, err := linesOf(from, 50_000)
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%s, %s: %v (-want +got):\n%s", tt.name, how, err, diff)
			}
		}
	}
}

func TestALineMayBeAsLongAsTheLimit(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]error{65_535: io.EOF, 65_536: io.EOF, 65_537: eventstream.ErrTooLong} {
		for _, end := range []string{"", "\n", "\r\n"} {
			if _, err := linesOf(strings.NewReader(strings.Repeat("x", size)+end), 65_536); !errors.Is(err, want) {
				t.Errorf("%d bytes and %q: %v", size, end, err)
			}
		}
	}
}

// TestAnEndlessLineIsNotKept: the reader stops asking soon after the limit.
func TestAnEndlessLineIsNotKept(t *testing.T) {
	t.Parallel()
	endless := &endless{}
	if _, err := linesOf(endless, 1000); !errors.Is(err, eventstream.ErrTooLong) || endless.given > 100_000 {
		t.Errorf("%v after %d bytes", err, endless.given)
	}
}

type endless struct{ given int }

func (e *endless) Read(p []byte) (int, error) {
	e.given += len(p)
	return copy(p, strings.Repeat("x", len(p))), nil
}

// TestALineIsThereOnceItsEndIs: nothing is asked for beyond it, also not whether an LF follows a CR.
func TestALineIsThereOnceItsEndIs(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n"} {
		from, to := io.Pipe()
		go func() { _, _ = io.WriteString(to, "a"+end) }()
		line, err := eventstream.NewLines(from, 10).Next()
		if string(line) != "a" || err != nil {
			t.Errorf("%q: %q, %v", end, line, err)
		}
		_ = from.Close()
	}
}

func TestABreakIsNoEnd(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := linesOf(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)), 10)
	if diff := cmp.Diff([]string{"a"}, got); diff != "" || !errors.Is(err, broken) {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stream string
		want         []string // name=data
	}{
		{"data alone", "data: a\n\n", []string{"=a"}},
		{"a name", "event: chunk\ndata: a\n\n", []string{"chunk=a"}},
		{"a name after the data", "data: a\nevent: chunk\n\n", []string{"chunk=a"}},
		{"the name is of one event alone", "event: chunk\ndata: a\n\ndata: b\n\n", []string{"chunk=a", "=b"}},
		{"several lines", "data: a\ndata: b\ndata:\n\n", []string{"=a\nb\n"}},
		{"one blank goes", "data:  a \n\ndata:b\n\n", []string{"= a ", "=b"}},
		{"no data, no event", "event: ping\n\nid: 7\n\nretry: 1000\n\n: hello\n\n", nil},
		{"empty data", "data\n\ndata:\n\n", []string{"=", "="}},
		{"comments and other fields", ": x\nid: 1\ndata: a\nretry: 7\n:y\nfoo: bar\nfoo\n\n", []string{"=a"}},
		{"a name without data is forgotten", "event: ping\n\ndata: a\n\n", []string{"=a"}},
		{"CRLF and CR", "data: a\r\n\r\ndata: b\r\r", []string{"=a", "=b"}},
		{"a byte order mark", "\uFEFFdata: a\n\n", []string{"=a"}},
		{"no blank line at the end", "data: a\n\nevent: done\ndata: b", []string{"=a", "done=b"}},
		{"a colon in the data", "data: a: b\n\n", []string{"=a: b"}},
	} {
		for how, from := range readers(tt.stream) {
			got, err := eventsOf(from, 100)
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%s, %s: %v (-want +got):\n%s", tt.name, how, err, diff)
			}
		}
	}
}

func eventsOf(from io.Reader, max int) ([]string, error) {
	events := eventstream.NewEvents(from, max)
	var all []string
	for {
		event, err := events.Next()
		if err != nil {
			return all, err
		}
		all = append(all, event.Name+"="+string(event.Data))
	}
}

func TestTheLimitIsOnTheDataOfAnEvent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stream string
		want         error
	}{
		{"one line of the limit", "data: " + strings.Repeat("x", 1000), io.EOF},
		{"one line over it", "data: " + strings.Repeat("x", 1001), eventstream.ErrTooLong},
		{"many short lines", strings.Repeat("data: xxxxxxxxx\n", 101), eventstream.ErrTooLong},
		{"many short events", strings.Repeat("data: xxxxxxxxx\n\n", 1000), io.EOF},
		{"an endless comment", ":" + strings.Repeat("x", 2000), eventstream.ErrTooLong},
	} {
		if _, err := eventsOf(strings.NewReader(tt.stream), 1000); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// FuzzEvents: however a stream is cut into reads, it holds the same events.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "event: x\rdata: b\r\n\r\n", "\uFEFF:\n\ndata", "data: a\ndata: b\n\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		whole, err := eventsOf(strings.NewReader(stream), 64)
		cut, cutErr := eventsOf(iotest.HalfReader(iotest.OneByteReader(strings.NewReader(stream))), 64)
		if diff := cmp.Diff(whole, cut); diff != "" || fmt.Sprint(err) != fmt.Sprint(cutErr) {
			t.Errorf("%v and %v (-whole +cut):\n%s", err, cutErr, diff)
		}
	})
}

func ExampleEvents() {
	stream := strings.NewReader("event: chunk\ndata: Ships \n\nevent: chunk\ndata: sail.\n\nevent: done\ndata:\n\n")
	events := eventstream.NewEvents(stream, 1<<20)
	for event, err := events.Next(); err == nil; event, err = events.Next() {
		fmt.Printf("%s %q\n", event.Name, event.Data)
	}
	// Output:
	// chunk "Ships "
	// chunk "sail."
	// done ""
}

func TestALongEventIsHeldOnce(t *testing.T) {
	const size = 8 << 20
	stream := strings.NewReader("event: result\ndata: " + strings.Repeat("x", size) + "\n\n")
	var event eventstream.Event
	var err error
	taken := adaptertest.Taken(func() { event, err = eventstream.NewEvents(stream, size).Next() })
	if err != nil || len(event.Data) != size || event.Name != "result" {
		t.Fatalf("%d bytes, %v", len(event.Data), err)
	}
	if taken > size+6<<20 {
		t.Errorf("%d bytes took %d", size, taken)
	}
}
