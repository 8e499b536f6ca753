package schemas

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// TestWhatIsWrittenQuicklyIsTheSame fills every member of these types, now and then, with whatever it may hold, and more.
func TestWhatIsWrittenQuicklyIsTheSame(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for _, kind := range []reflect.Type{
		reflect.TypeFor[ReachMessage](), reflect.TypeFor[Task](), reflect.TypeFor[Record](), reflect.TypeFor[Result](),
		reflect.TypeFor[Answer](),
	} {
		for i := range 2000 {
			value := reflect.New(kind)
			fill(random, value.Elem(), i%4)
			want, wrong := encode(value.Interface())
			got, err := Encode(value.Interface())
			if diff := cmp.Diff(string(want), string(got)); diff != "" || (err == nil) != (wrong == nil) {
				t.Fatalf("%v (-want %v +got %v)\n%s", kind, wrong, err, diff)
			}
			if err != nil {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no value was one that cannot be encoded")
	}
}

// TestWhatIsWrittenQuicklySeldomNeedsHelp keeps the usual messages away from the general encoder.
func TestWhatIsWrittenQuicklySeldomNeedsHelp(t *testing.T) {
	t.Parallel()
	priority := 7
	hops := []Hop{{Hop: HopRouted, At: At(time.UnixMilli(1)), By: "dispatcher-1", Detail: jsontext.Value(`{"winner":"laptop-1"}`)}}
	for _, w := range []any{
		&ReachMessage{Payload: Payload(`{"text": "é\n"}`), Priority: &priority, Tags: []string{"ü"}, Assignment: &Assignment{}, Hops: hops},
		&Task{Result: Payload(`null`), Error: NewError(Internal, "", "no")}, &Record{Hops: hops}, &Result{Hops: hops}, &Answer{},
	} {
		if encodeQuickly(w) == nil {
			t.Errorf("%T goes through the general encoder", w)
		}
	}
}

var (
	someTexts = []string{"", "echo", "laptop-1", `say "no"`, "a\\b\n\t\x01", "<é&\u2028>", "\x7f", "\xff"}
	someRaws  = []string{`null`, `{"a": [1, 2.50e3 ], "b" : "\u00e9\/"}`, `"x"`, `12345678901234567890`, `{"a":1,"a":2}`, `{`, ``}
	someTimes = []time.Time{{}, time.UnixMilli(0), time.UnixMilli(1_790_000_000_123), time.UnixMilli(1_790_000_000_999)}
)

// fill gives a value to one in so many members; to all with 0. Those that no encoder takes are rare.
func fill(random *rand.Rand, v reflect.Value, among int) {
	pick := func(n int) int { // the last two are rare
		if random.IntN(100) > 0 {
			n -= 2
		}
		return random.IntN(n)
	}
	switch v.Interface().(type) {
	case Time:
		v.Set(reflect.ValueOf(At(someTimes[random.IntN(len(someTimes))])))
		return
	case Payload, jsontext.Value:
		v.SetBytes([]byte(someRaws[pick(len(someRaws))]))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name == "Unknown" && random.IntN(50) > 0 {
				continue
			} else if name == "Unknown" {
				v.Field(i).SetBytes([]byte(`{"new":1}`))
			} else if among == 0 || random.IntN(among) == 0 || v.Field(i).Kind() == reflect.Struct {
				fill(random, v.Field(i), among)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem(), among)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(3), 3))
		for i := range v.Len() {
			fill(random, v.Index(i), among)
		}
	case reflect.String:
		v.SetString(someTexts[pick(len(someTexts))])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(random.Int64N(1 << 40))
	case reflect.Uint64:
		v.SetUint(random.Uint64())
	case reflect.Float64:
		v.SetFloat(random.Float64())
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	}
}

func BenchmarkEncodeRecord(b *testing.B) {
	now := At(time.Now())
	r := &Record{Tenant: DefaultTenant, Task: Task{
		TaskID: NewTaskID(), State: StateCompleted, Phase: PhaseDone, Capability: "echo", AgentID: "laptop-1", Attempt: 1, SubmittedAt: now,
		StartedAt: now, FinishedAt: now, ExpiresAt: now, KeptUntil: now, Result: Payload(`{"text":"Ships sail. Ships sink."}`),
	}}
	for _, name := range []string{HopReceived, HopAdapterRequest, HopAgentDone, HopValidated} {
		r.Hops = append(r.Hops, Hop{Hop: name, At: now, By: "laptop-1"})
	}
	for name, encode := range map[string]func(any) ([]byte, error){"quickly": Encode, "general": encode} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = encode(r)
			}
		})
	}
}
