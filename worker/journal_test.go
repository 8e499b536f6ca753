package worker

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

// notebook is a journal under test, with a clock of its own.
type notebook struct {
	*journal
	t     testing.TB
	clock time.Time
}

func openNotebook(t testing.TB, dir string, change ...func(*journalBounds)) *notebook {
	t.Helper()
	n := &notebook{t: t, clock: time.Now().Truncate(time.Millisecond)}
	n.journal = newJournal(dir, func() time.Time { return n.clock }, zerolog.New(zerolog.NewTestWriter(t)))
	for _, c := range change {
		c(&n.bounds)
	}
	if err := n.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.abandon)
	return n
}

// abandon leaves the journal as a kill does: what has not been written stays so.
func (n *notebook) abandon() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shut()
}

func attemptOf(taskID string) attemptKey { return attemptKey{"laptop-1", taskID, 1} }

// end keeps a result of a task.
func (n *notebook) end(taskID, result string) schemas.Result {
	r := schemas.Result{
		TaskID: taskID, AgentID: "laptop-1", Attempt: 1, Sequence: 7, WriteID: "w-" + taskID, State: schemas.StateCompleted,
		Result: schemas.Payload(result),
	}
	n.keep(&r, schemas.MustEncode(r), n.clock.Add(time.Hour), false)
	return r
}

func (n *notebook) knows(taskID string) bool {
	_, known := n.recall(attemptOf(taskID))
	return known
}

func (n *notebook) owes() (ids []string) {
	for _, key := range n.owed("laptop-1") {
		ids = append(ids, key.taskID)
	}
	return ids
}

func TestAJournalOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := openNotebook(t, dir)
	n.begin(attemptOf("begun"))
	n.begin(attemptOf("ended"))
	want := n.end("ended", `{"n":9007199254740993,"text":"\u0041"}`)
	n.end("settled", `1`)
	n.settle(attemptOf("settled"))
	failed := schemas.Result{AgentID: "laptop-1", TaskID: "unreached", Attempt: 1, State: schemas.StateFailed, Ran: schemas.RanNo}
	n.keep(&failed, schemas.MustEncode(failed), n.clock.Add(time.Hour), true)
	n.abandon()

	n = openNotebook(t, dir)
	if result, known := n.recall(attemptOf("begun")); result != nil || !known {
		t.Errorf("of a begun attempt it knows %v, %v", result, known)
	}
	got, _ := n.recall(attemptOf("ended"))
	want.V = schemas.CurrentVersion
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
	body, _ := n.debt(attemptOf("ended"))
	if string(body) != string(schemas.MustEncode(want)) {
		t.Errorf("the result is owed as %s", body)
	}
	if n.knows("unreached") {
		t.Error("an attempt in which the agent did nothing counts as made")
	}
	if n.knows("never") || !n.knows("settled") {
		t.Error("it does not know what was")
	}
	if _, known := n.recall(attemptKey{"laptop-1", "ended", 2}); known {
		t.Error("another attempt is taken for this one")
	}
}

func TestWhatAJournalOwes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := openNotebook(t, dir)
	n.begin(attemptOf("begun"))
	n.end("first", `1`)
	n.clock = n.clock.Add(time.Minute)
	n.end("second", `2`)
	n.end("settled", `3`)
	n.settle(attemptOf("settled"))
	n.clock = n.clock.Add(time.Minute)
	n.end("last", `4`) // and with it, that one is settled
	for _, when := range []string{"in the same process", "after a kill"} {
		if diff := cmp.Diff([]string{"first", "second", "last"}, n.owes()); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
		if got := n.owed("server-2"); got != nil {
			t.Errorf("%s: another agent owes %v", when, got)
		}
		n.abandon()
		n = openNotebook(t, dir)
	}
	n.clock = n.clock.Add(2 * time.Hour)
	if got := n.owes(); got != nil {
		t.Errorf("results of expired tasks are owed: %v", got)
	}
}

func TestWhatIsSettledLastIsWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := openNotebook(t, dir)
	n.end("task", `1`)
	n.settle(attemptOf("task"))
	n.close()
	if got := openNotebook(t, dir).owes(); got != nil {
		t.Errorf("it owes %v", got)
	}
}

func TestATornJournalIsRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, tail string }{
		{"the last line is cut off", `{"v":1,"kind":"result","agent_id":"laptop-1","task_id":"tor`},
		{"the last line has no newline", `{"v":1,"kind":"begun","agent_id":"laptop-1","task_id":"torn","attempt":1,"at":"2026-11-29T10:00:00.000Z"}`},
		{"a line is no JSON", "\x00\x00\x00\n"},
		{"a line is of a kind that a later release writes", `{"kind":"dreamt","agent_id":"laptop-1","task_id":"torn","attempt":1}` + "\n"},
		{"a line is empty", "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			n := openNotebook(t, dir)
			n.end("before", `1`)
			path := n.current().path
			n.abandon()
			appendTo(t, path, tt.tail)
			n = openNotebook(t, dir)
			n.end("after", `2`)
			n.abandon()
			n = openNotebook(t, dir)
			if !n.knows("before") || !n.knows("after") || n.knows("torn") {
				t.Errorf("it knows before %v, after %v, torn %v", n.knows("before"), n.knows("after"), n.knows("torn"))
			}
		})
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestAJournalIsBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		bounds func(*journalBounds)
	}{
		{"in lines", func(b *journalBounds) { b.lines = 100 }},
		{"in bytes", func(b *journalBounds) { b.bytes = 20 << 10 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			n := openNotebook(t, dir, tt.bounds)
			n.begin(attemptOf("long"))
			n.end("owed", `1`)
			for i := range 1000 {
				id := fmt.Sprint("task-", i)
				n.end(id, `1`)
				n.settle(attemptOf(id))
				n.clock = n.clock.Add(time.Millisecond)
			}
			n.end("latest", `1`)
			for _, when := range []string{"in the same process", "after a kill"} {
				bytes, files := sizeOf(t, dir)
				if len(n.past) > 110 || bytes > 25<<10 || files > 2 {
					t.Errorf("%s: %d attempts, %d bytes in %d files", when, len(n.past), bytes, files)
				}
				if !n.knows("long") || !n.knows("owed") || !n.knows("latest") {
					t.Errorf("%s: what is needed was dropped", when)
				}
				if n.knows("task-0") {
					t.Errorf("%s: the oldest is still there", when)
				}
				if got := n.owes(); len(got) > 3 || got[0] != "owed" {
					t.Errorf("%s: it owes %v", when, got)
				}
				n.abandon()
				n = openNotebook(t, dir, tt.bounds)
			}
		})
	}
}

func TestAJournalFullOfDebtsStaysBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := openNotebook(t, dir, func(b *journalBounds) { b.lines = 100 })
	for i := range 1000 {
		n.end(fmt.Sprint("task-", i), `1`)
		n.clock = n.clock.Add(time.Millisecond)
	}
	owed := n.owes()
	if len(owed) < 50 || len(owed) > 110 || owed[len(owed)-1] != "task-999" {
		t.Errorf("it owes %d results, the last one %s", len(owed), owed[len(owed)-1])
	}
	for _, key := range n.owed("laptop-1") {
		if body, _ := n.debt(key); !strings.Contains(string(body), `"`+key.taskID+`"`) {
			t.Fatalf("of %s it kept %s", key.taskID, body)
		}
	}
}

// sizeOf is what the volumes in a folder take.
func sizeOf(t *testing.T, dir string) (bytes int64, files int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "journal-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes, len(paths)
}

func TestAJournalForgetsAfterADay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := openNotebook(t, dir)
	n.end("old", `"secret"`)
	n.clock = n.clock.Add(25 * time.Hour)
	if n.knows("old") || n.owes() != nil {
		t.Error("what is older than a day is still known")
	}
	for range 2 {
		if err := n.tidy(); err != nil {
			t.Fatal(err)
		}
		n.clock = n.clock.Add(25 * time.Hour)
	}
	if bytes, _ := sizeOf(t, dir); bytes != 0 || len(n.past) != 0 {
		t.Errorf("%d bytes and %d attempts are left", bytes, len(n.past))
	}
}

func TestADeathWhileAJournalTurnsLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := openNotebook(t, dir)
	n.end("one", `1`)
	n.end("two", `2`)
	one := n.past[attemptOf("one")]
	for range 2 { // a third volume, with a copy of the first line: the process dies before the first one is removed
		if err := n.turn(n.current().number + 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.carry(one); err != nil {
		t.Fatal(err)
	}
	n.abandon()
	n = openNotebook(t, dir)
	if _, files := sizeOf(t, dir); files > 2 || len(n.owes()) != 2 || !n.knows("one") || !n.knows("two") {
		t.Errorf("%d files; it owes %v", files, n.owes())
	}
}

func TestAJournalThatCannotBeWrittenHoldsNothingUp(t *testing.T) {
	t.Parallel()
	n := openNotebook(t, t.TempDir())
	n.end("before", `1`)
	_ = n.current().file.Close()
	n.end("lost", `2`)
	if n.knows("lost") {
		t.Error("it claims to know what it could not write")
	}
}

func TestAJournalIsReadFromRegularFilesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(dir, fmt.Sprintf(volumeForm, 1))); err != nil {
		t.Fatal(err)
	}
	n := newJournal(dir, time.Now, zerolog.Nop())
	if err := n.open(t.Context()); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("got %v", err)
	}
}

func TestOneProcessHasAJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := openNotebook(t, dir)
	first.end("task", `1`)
	second := newJournal(dir, time.Now, zerolog.New(io.Discard))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := second.open(ctx); err == nil {
		t.Fatal("two have the journal")
	}
	opened := make(chan error, 1)
	go func() { opened <- second.open(t.Context()) }()
	first.close()
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	defer second.close()
	if _, known := second.recall(attemptOf("task")); !known {
		t.Error("the second does not know what the first has written")
	}
}

func TestAWorkerWaitsForItsJournal(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	dir := t.TempDir()
	other := openNotebook(t, dir)
	s := h.start(echo, func(cfg *Config) { cfg.JournalDir = dir })
	select {
	case <-s.Ready():
		t.Error("it works without its journal")
	case <-time.After(100 * time.Millisecond):
	}
	other.close()
	<-s.Ready()
	h.awaitDone(h.assign(task{}).TaskID)
}

func TestAWorkerWithoutAFolderForItsJournalSaysSo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), Config{
		Conn: brokertest.New(t).Conn(t), JournalDir: filepath.Join(file, "journal"),
		Agents: []Agent{{Handler: echo, Registration: schemas.Registration{AgentID: "laptop-1", Capabilities: []schemas.Offer{{ID: "echo"}}}}},
	})
	if err == nil || !strings.Contains(err.Error(), "create journal") {
		t.Errorf("got %v", err)
	}
}

func TestResultsStayOnOneLine(t *testing.T) {
	t.Parallel()
	h := newHouse(t).serve()
	dir := t.TempDir()
	s := h.work(HandlerFunc(func(context.Context, *Task, Emit) (schemas.Payload, error) {
		return schemas.Payload("{\n\t\"a\": [1,\n 2],\r\n \"b\": \"x\\ny\"}\n"), nil
	}), func(cfg *Config) { cfg.JournalDir = dir })
	e := h.assign(task{effects: true})
	h.awaitDone(e.TaskID)
	result, known := s.journal.recall(attemptOf(e.TaskID))
	if !known || string(result.Result) != `{"a":[1,2],"b":"x\ny"}` {
		t.Errorf("the journal has %v", result)
	}
}

// What a result costs: a write for one without side effects, the disk's answer, shared with others, for one with.
func BenchmarkJournal(b *testing.B) {
	for _, bench := range []struct {
		name    string
		durable bool
		size    int
	}{
		{"idempotent", false, 200},
		{"idempotent, 64 KiB", false, 64 << 10},
		{"with side effects", true, 200},
	} {
		b.Run(bench.name, func(b *testing.B) {
			n := openNotebook(b, b.TempDir())
			body := schemas.Payload(`"` + strings.Repeat("x", bench.size) + `"`)
			var numbers sync.Mutex
			number := 0
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					numbers.Lock()
					number++
					r := schemas.Result{AgentID: "laptop-1", TaskID: fmt.Sprint(number), Attempt: 1, Result: body}
					numbers.Unlock()
					n.keep(&r, body, n.clock.Add(time.Hour), bench.durable)
					n.settle(attemptOf(r.TaskID))
				}
			})
		})
	}
}
