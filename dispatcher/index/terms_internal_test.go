package index

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/schemas"
)

// content is what a task does not keep of its message.
var content = []string{"V", "Payload", "Metadata", "Tags", "Hops", "Unknown", "Traceparent"}

// filled gives each field that is set a value of its own.
func filled(v reflect.Value, seed int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rune('a' + seed%26)))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(seed + 2))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), seed)
	case reflect.Uint8:
		v.SetUint(uint64(seed + 2))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), seed)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[schemas.Time]() {
			v.Set(reflect.ValueOf(schemas.At(time.Unix(1_800_000_000+int64(seed), 0))))
			return
		}
		for i := range v.NumField() {
			filled(v.Field(i), seed+i)
		}
	}
}

func TestAnOrderIsTheMessageWithoutItsContent(t *testing.T) {
	t.Parallel()
	var m schemas.ReachMessage
	fields := reflect.ValueOf(&m).Elem()
	for i := range fields.NumField() {
		if !slices.Contains(content, fields.Type().Field(i).Name) {
			filled(fields.Field(i), i)
		}
	}
	task := TaskOf(Event{TaskID: m.TaskID, Capability: m.Capability, Message: &m})
	if diff := cmp.Diff(&m, task.Order()); diff != "" {
		t.Errorf("a field of the message is neither kept nor counted as content:\n%s", diff)
	}
}

// TestTermsThatDifferAreNotShared changes each field of the terms and of their assignment in turn.
func TestTermsThatDifferAreNotShared(t *testing.T) {
	t.Parallel()
	bare := func() *Terms { return &Terms{Assignment: new(schemas.Assignment)} }
	differ := func(name string, other *Terms) {
		if keyOf(bare()) == keyOf(other) {
			t.Errorf("terms that differ in %s are taken for equal", name)
		}
	}
	differ("having been assigned", new(Terms))
	for _, of := range []func(*Terms) reflect.Value{
		func(s *Terms) reflect.Value { return reflect.ValueOf(s).Elem() },
		func(s *Terms) reflect.Value { return reflect.ValueOf(s.Assignment).Elem() },
	} {
		for i := range of(bare()).NumField() {
			other := bare()
			field := of(other).Type().Field(i)
			filled(of(other).Field(i), i)
			differ(field.Name, other)
		}
	}
}

func TestWaitingTasksShareEqualTerms(t *testing.T) {
	t.Parallel()
	x := New()
	event := func(sequence uint64, id string, phase schemas.Phase, priority int) Event {
		return Event{Sequence: sequence, TaskID: id, Phase: phase, Capability: "echo", AgentID: "a", Message: &schemas.ReachMessage{
			Tenant: "default", Priority: &priority, Assignment: &schemas.Assignment{Chain: []string{"a", "b"}},
		}}
	}
	x.Apply(event(1, "one", schemas.PhaseQueued, 3))
	x.Apply(event(2, "two", schemas.PhaseScheduled, 3))
	x.Apply(event(3, "three", schemas.PhaseQueued, 4))
	if x.Open("one").Terms != x.Open("two").Terms || x.Open("one").Terms == x.Open("three").Terms || len(x.common) != 2 {
		t.Errorf("of three tasks with two kinds of terms %d are kept", len(x.common))
	}
	x.Apply(event(4, "one", schemas.PhaseAssigned, 3))
	x.Apply(event(5, "two", schemas.PhaseAssigned, 3))
	x.Forget("three", 3)
	if len(x.common) != 0 {
		t.Errorf("%d kinds of terms are kept of no waiting task", len(x.common))
	}
	if got := x.Open("one").Terms.Priority; got != 3 {
		t.Errorf("got priority %d of a task that waits no longer, want its own", got)
	}
}
