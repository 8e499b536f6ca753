package process

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEnvironment(t *testing.T) {
	t.Parallel()
	inherited := []string{
		"PATH=/bin", "HOME=/root", "REACH_URL=x", "reach_debug=1", "MY_PSK=x", "API_KEY=x", "GH_TOKEN=x", "A_SECRET_B=x",
		"PGPASSWORD=x", "MYSQL_PASSWD=x", "NATS_CREDS=x", "AWS_CREDENTIALS=x", "DB=postgres://u:p@h/d", "LIST=http://h,nats://u:p@h",
		"SITE=https://h/a:b@c", "MAIL=me@example.org", "EMPTY=",
	}
	got := Environment(inherited, []string{"GH_TOKEN=given"}, []string{"REACH_TASK_ID=1"})
	want := []string{
		"PATH=/bin", "HOME=/root", "SITE=https://h/a:b@c", "MAIL=me@example.org", "EMPTY=", "GH_TOKEN=given", "REACH_TASK_ID=1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	type line struct {
		Text    string
		TooLong bool
	}
	for _, tt := range []struct {
		name, input string
		want        []line
	}{
		{"nothing", "", nil},
		{"lines of all kinds", "a\n\nb\r\nc", []line{{"a", false}, {"", false}, {"b", false}, {"c", false}}},
		{"the limit", "12345678\n12345678\r\n12345678", []line{{"12345678", false}, {"12345678", false}, {"12345678", false}}},
		{"more than the limit", "123456789\nb\n", []line{{"123456789\n", true}, {"b", false}}},
		{"more than the limit at the end", "a\n123456789", []line{{"a", false}, {"123456789", true}}},
		{"more than a buffer", strings.Repeat("x", 65536) + "yz\nb\n", []line{{strings.Repeat("x", 65536), true}, {"b", false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := NewLines(strings.NewReader(tt.input), 8)
			var got []line
			for {
				text, tooLong, err := from.Next()
				if err != nil {
					break
				}
				got = append(got, line{string(text), tooLong})
				if tooLong && !from.Rest() {
					t.Error("the rest has no end")
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongLineIsHeldOnce(t *testing.T) {
	const size = 8 << 20
	from := NewLines(strings.NewReader(strings.Repeat("x", size)+"\r\n"), size)
	var line []byte
	var err error
	taken := adaptertest.Taken(func() { line, _, err = from.Next() })
	if err != nil || len(line) != size {
		t.Fatalf("%d bytes, %v", len(line), err)
	}
	if taken > size+6<<20 {
		t.Errorf("%d bytes took %d", size, taken)
	}
}

func TestTheRestOfALineIsNotReadForEver(t *testing.T) {
	t.Parallel()
	from := NewLines(io.MultiReader(strings.NewReader("x"), endless{'x'}), 1000)
	if _, tooLong, err := from.Next(); !tooLong || err != nil {
		t.Fatal(tooLong, err)
	}
	if from.Rest() {
		t.Error("an endless line has ended")
	}
}

func TestTheEndOfALineIsNotGatheredForEver(t *testing.T) {
	t.Parallel()
	from := NewLines(io.LimitReader(endless{'\r'}, 10<<20), 1000)
	if line, tooLong, err := from.Next(); !tooLong || err != nil || len(line) > 1<<20 {
		t.Fatal(len(line), tooLong, err)
	}
}

type endless struct{ of byte }

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = e.of
	}
	return len(b), nil
}

func TestChatterIsBoundedAndOnlyForDebug(t *testing.T) {
	t.Parallel()
	for level, most := range map[zerolog.Level]int{zerolog.DebugLevel: 2*chatPerSecond + 1, zerolog.InfoLevel: 0} {
		var log bytes.Buffer
		c := &Chatter{log: zerolog.New(&log).Level(level)}
		c.drain(strings.NewReader(strings.Repeat("line\n", 1000) + strings.Repeat("x", 1<<20)))
		lines := strings.Count(log.String(), "\n")
		if lines > most || most > 0 && lines < chatPerSecond || log.Len() > most*1000 {
			t.Errorf("%s: %d lines, %d bytes", level, lines, log.Len())
		}
	}
}
