package schemas

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read are the types that are read quickly, each from its pointer.
var read = []func() any{
	func() any { return new(ReachMessage) }, func() any { return new(Task) }, func() any { return new(Record) },
	func() any { return new(Result) }, func() any { return new(Answer) },
}

// readBothWays fails where the quick reader reads what the general decoder refuses, or reads it as something else, and reports whether
// it has read it at all.
func readBothWays(t *testing.T, data []byte, fresh func() any) bool {
	t.Helper()
	quick, slow := fresh(), fresh()
	if !decodeQuickly(data, quick) {
		if !reflect.ValueOf(quick).Elem().IsZero() {
			t.Fatalf("%T: of %s a part is left", quick, data)
		}
		return false
	}
	if err := decode(data, slow); err != nil {
		t.Fatalf("%T: %s is read, and is refused by the general decoder: %v", quick, data, err)
	}
	if diff := cmp.Diff(slow, quick); diff != "" {
		t.Fatalf("%T: %s (-want +got)\n%s", quick, data, diff)
	}
	return true
}

func TestWhatIsReadQuicklyIsTheSame(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, fresh := range read {
		quickly, all := 0, 0
		for i := range 2000 {
			value := fresh()
			fill(random, reflect.ValueOf(value).Elem(), i%4)
			data, err := encode(value)
			if err != nil {
				continue
			}
			all++
			if readBothWays(t, data, fresh) {
				quickly++
			}
			readBothWays(t, spoilt(random, data), fresh)
		}
		if quickly == 0 {
			t.Errorf("%T: of %d values none was read quickly", fresh(), all)
		}
	}
}

// spoilt is JSON with a byte that has become another, was left out or came twice.
func spoilt(random *rand.Rand, data []byte) []byte {
	at := random.IntN(len(data))
	some := []byte(` ,:"{}[]\0-e.nt` + "\xff")
	middle := [][]byte{{some[random.IntN(len(some))]}, nil, {data[at], data[at]}}[random.IntN(3)]
	return append(append(append([]byte(nil), data[:at]...), middle...), data[at+1:]...)
}

// TestWhatIsReadQuicklySeldomNeedsHelp keeps the usual messages away from the general decoder.
func TestWhatIsReadQuicklySeldomNeedsHelp(t *testing.T) {
	t.Parallel()
	m, r := aMessage(), aRecord()
	m.Unknown, r.Unknown = nil, nil
	message, record := MustEncode(m), MustEncode(r)
	for name, whole := range map[string]bool{
		"a message": decodeQuickly(message, new(ReachMessage)), "a record": decodeQuickly(record, new(Record)),
		"a message to run": partToRun.lend(message, new(ReachMessage)), "to follow": partToFollow.lend(message, new(ReachMessage)),
		"an end":    partOfEnd.lend(record, new(Record)),
		"a task":    decodeQuickly(MustEncode(&r.Task), new(Task)),
		"a result":  decodeQuickly(MustEncode(&Result{State: StateCompleted, Result: r.Result, Hops: r.Hops}), new(Result)),
		"a failure": decodeQuickly(MustEncode(&Result{Error: NewError(Internal, "", "no").With("a", 1)}), new(Result)),
		"an answer": decodeQuickly(MustEncode(&Answer{Outcome: OutcomeStored, Sequence: 1 << 63, Idle: true}), new(Answer)),
	} {
		if !whole {
			t.Errorf("%s goes through the general decoder", name)
		}
	}
}

// FuzzReader holds the quick reader against the general decoder.
func FuzzReader(f *testing.F) {
	for _, v := range []any{aMessage(), aRecord(), &aRecord().Task, &Result{Result: Payload(`[1]`)}, &Answer{}} {
		f.Add(MustEncode(v))
	}
	for _, seed := range []string{
		``, `{`, `{}`, `{"v":1}`, `{"v":01}`, `{"v":-0}`, `{"v":1.0}`, `{"v":1e0}`, `{"v":1,"v":1}`, `{"v":1} `, `{"":1}`, `{"v":1,}`, `{,"v":1}`,
		`{"v":9223372036854775808}`, `{"v":1,"task_id":"\u0061"}`, `{"v":1,"task_id":null}`, `{"v":1,"payload":}`, `{"v":1,"payload": 1}`,
		`{"v":1,"payload":{"a":1,"a":2}}`, `{"v":1,"payload":[}`, `{"v":1,"payload":"`, `{"v":1,"tags":[]}`, `{"v":1,"tags":["a",]}`,
		`{"v":1,"not_before":"2026-02-30T00:00:00.000Z"}`, `{"v":1,"not_before":"2026-02-28T24:00:00.000Z"}`,
		`{"v":1,"not_before":"2024-02-29T23:59:59.999Z"}`, `{"v":1,"not_before":"0000-01-01T00:00:00.000Z"}`,
		`{"v":1,"assignment":{"idempotent":tru,"run_timeout_ms":1}}`, `{"v":1,"hops":[{"hop":"a","by":"b"},{}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, fresh := range read {
			readBothWays(t, data, fresh)
		}
	})
}
