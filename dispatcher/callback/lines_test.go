package callback_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentreach/agent-reach/dispatcher/callback"
)

var start = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

func mine(string) bool { return true }

// owe puts n callbacks to a receiver, all due.
func owe(l *callback.Lines, receiver string, n int) {
	for i := range n {
		l.Put(callback.Owed{TaskID: fmt.Sprintf("%s-%d", receiver, i), Sequence: 1, Receiver: receiver, At: start})
	}
}

// count is how many of each receiver there are.
func count(started []callback.Owed) map[string]int {
	n := make(map[string]int)
	for _, o := range started {
		n[o.Receiver]++
	}
	return n
}

// made is a call that went well: its record says so.
func made(l *callback.Lines, o callback.Owed) {
	l.Drop(o.TaskID, o.Sequence+1)
	l.Done(o, true, start)
}

func TestAReceiverEarnsItsCalls(t *testing.T) {
	t.Parallel()
	l := callback.New(callback.Limits{Total: 100, PerReceiver: 8})
	owe(l, "b", 50)
	for _, want := range []int{1, 2, 4, 8, 8} {
		started := l.Start(start, mine)
		if len(started) != want {
			t.Fatalf("%d calls are started, want %d", len(started), want)
		}
		for _, o := range started {
			made(l, o)
		}
	}
	for _, o := range l.Start(start, mine) {
		l.Done(o, false, start.Add(time.Hour))
	}
	if started := l.Start(start, mine); len(started) != 1 {
		t.Errorf("after failures %d calls are started, want 1", len(started))
	}
}

func TestManyThatHangLeaveRoomForTheOthers(t *testing.T) {
	t.Parallel()
	l := callback.New(callback.Limits{Total: 10, PerReceiver: 8})
	owe(l, "good", 20)
	made(l, l.Start(start, mine)[0])
	for i := range 50 {
		owe(l, fmt.Sprintf("bad%d", i), 4)
	}
	for range 4 { // none of the bad ones is ever done
		started := count(l.Start(start, mine))
		for i := range 50 {
			if n := started[fmt.Sprintf("bad%d", i)]; n > 1 {
				t.Errorf("bad%d has %d calls at once", i, n)
			}
		}
		if started["good"] == 0 {
			t.Fatal("the good one has no turn")
		}
		for i := range 20 {
			o := callback.Owed{TaskID: fmt.Sprintf("good-%d", i), Sequence: 1, Receiver: "good"}
			if i < started["good"] {
				made(l, o)
			}
		}
		owe(l, "good", 20)
	}
	if busy := l.Busy(); busy > 5 {
		t.Errorf("%d places are with those that hang, of 10", busy)
	}
}

func TestWhoIsDueWhen(t *testing.T) {
	t.Parallel()
	l := callback.New(callback.Limits{})
	l.Put(callback.Owed{TaskID: "later", Sequence: 3, Receiver: "x", At: start.Add(time.Minute)})
	l.Put(callback.Owed{TaskID: "theirs", Sequence: 4, Receiver: "y", At: start})
	if started := l.Start(start, func(id string) bool { return id != "theirs" }); len(started) != 0 {
		t.Errorf("%v", started)
	}
	if started := l.Start(start.Add(2*time.Second), mine); len(started) != 1 || started[0].TaskID != "theirs" {
		t.Errorf("what was another's is not taken over: %v", started)
	}
	l.Put(callback.Owed{TaskID: "later", Sequence: 2, Receiver: "x", At: start}) // an older record
	if started := l.Start(start.Add(59*time.Second), mine); len(started) != 0 {
		t.Errorf("an older record counts: %v", started)
	}
	l.Drop("later", 2)
	if started := l.Start(start.Add(time.Minute), mine); len(started) != 1 || started[0].Sequence != 3 {
		t.Errorf("%v", started)
	}
}

func TestACallThatCouldNotBeWrittenIsMadeAgain(t *testing.T) {
	t.Parallel()
	l := callback.New(callback.Limits{})
	owe(l, "x", 1)
	o := l.Start(start, mine)[0]
	if again := l.Start(start, mine); len(again) != 0 {
		t.Fatalf("it is made twice at once: %v", again)
	}
	l.Done(o, false, start.Add(time.Second))
	if again := l.Start(start, mine); len(again) != 0 {
		t.Errorf("it does not wait: %v", again)
	}
	if again := l.Start(start.Add(time.Second), mine); len(again) != 1 {
		t.Errorf("it is forgotten: %v", again)
	}
}

func TestARecordThatChangesDuringACall(t *testing.T) {
	t.Parallel()
	l := callback.New(callback.Limits{})
	owe(l, "x", 1)
	o := l.Start(start, mine)[0]
	l.Put(callback.Owed{TaskID: o.TaskID, Sequence: 2, Receiver: "x", At: start.Add(time.Minute)})
	if again := l.Start(start.Add(time.Hour), mine); len(again) != 0 {
		t.Fatalf("it is made twice at once: %v", again)
	}
	l.Done(o, false, start)
	if again := l.Start(start.Add(59*time.Second), mine); len(again) != 0 {
		t.Errorf("it does not wait for its own time: %v", again)
	}
	if again := l.Start(start.Add(time.Minute), mine); len(again) != 1 || again[0].Sequence != 2 {
		t.Errorf("%v", again)
	}
}

// TestNobodyIsForgotten: whatever happens, in whatever order, the limits hold, and what is owed is called in the end.
func TestNobodyIsForgotten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := callback.Limits{Total: rapid.IntRange(1, 6).Draw(t, "total"), PerReceiver: rapid.IntRange(1, 3).Draw(t, "each")}
		l := callback.New(limits)
		owed := make(map[string]uint64)
		var under []callback.Owed
		now, sequence := start, uint64(0)
		end := func(i int, well bool) {
			o := under[i]
			under = append(under[:i], under[i+1:]...)
			if well && owed[o.TaskID] == o.Sequence {
				delete(owed, o.TaskID)
				l.Drop(o.TaskID, o.Sequence)
			}
			l.Done(o, well, now)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				sequence++
				id := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "task"))
				receiver := "r" + fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "receiver"))
				owed[id] = sequence
				l.Put(callback.Owed{TaskID: id, Sequence: sequence, Receiver: receiver, At: now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "in")) * time.Second)})
			},
			"drop": func(t *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "task"))
				delete(owed, id)
				l.Drop(id, sequence)
			},
			"start": func(t *rapid.T) {
				now = now.Add(time.Second)
				under = append(under, l.Start(now, func(string) bool { return rapid.Bool().Draw(t, "mine") })...)
			},
			"end": func(t *rapid.T) {
				if len(under) > 0 {
					end(rapid.IntRange(0, len(under)-1).Draw(t, "which"), rapid.Bool().Draw(t, "well"))
				}
			},
			"": func(t *rapid.T) {
				if l.Busy() != len(under) || len(under) > limits.Total || l.Len() != len(owed) {
					t.Fatalf("%d busy, %d under way of %d, %d owed of %d", l.Busy(), len(under), limits.Total, l.Len(), len(owed))
				}
				for receiver, n := range count(under) {
					if n > limits.PerReceiver {
						t.Fatalf("%s has %d calls at once, of %d", receiver, n, limits.PerReceiver)
					}
				}
			},
		})
		for range 100 {
			now = now.Add(2 * time.Second)
			under = append(under, l.Start(now, mine)...)
			for len(under) > 0 {
				end(0, true)
			}
		}
		if len(owed) > 0 || l.Busy() > 0 || l.Len() > 0 {
			t.Fatalf("left: %v, %d busy", owed, l.Busy())
		}
	})
}
