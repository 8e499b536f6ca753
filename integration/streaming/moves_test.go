package streaming

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
)

// A worker is cut off in the middle of a stream: another agent begins again, its readers are told so, and the numbers run on. What the
// first one goes on saying reaches nobody.
func TestAnotherAgentTakesOver(t *testing.T) {
	t.Parallel()
	h := newImpatientHouse(t)
	said := make(chan struct{})
	cutOff := make(chan struct{})
	w := h.work("a1", func(ctx context.Context, _ *worker.Task, to worker.Emit) (schemas.Payload, error) {
		if err := emit(ctx, to, `"one"`, `"two"`); err != nil {
			return nil, err
		}
		close(said)
		<-cutOff
		_ = emit(ctx, to, `"late"`)
		<-ctx.Done()
		return nil, errGone
	}, "echo")
	id := h.submit(schemas.ReachMessage{Capability: "echo", ResponseMode: schemas.ModeStream}).TaskID
	readers := []*events{h.follow(0, id, ""), h.follow(1, id, "")}
	<-said
	for _, r := range readers {
		for range 3 { // the state and two chunks
			if one, found := r.next(); !found {
				t.Fatalf("the stream ended: %+v", one)
			}
		}
	}
	h.work("b2", func(ctx context.Context, _ *worker.Task, to worker.Emit) (schemas.Payload, error) {
		return nil, emit(ctx, to, `"ONE"`, `"TWO"`)
	}, "echo")
	for front := range h.fronts {
		brokertest.Eventually(t, "every dispatcher has heard of the attempt, which counts then", func() bool {
			return strings.Contains(h.get(front, "/v1/traces/"+id, ""), schemas.HopFirstChunk)
		})
	}
	w.cut()
	close(cutOff)
	want := []string{`{"v":1,"notice":"restarted","attempt":2,"next":3}`, chunk(3, 2, `"ONE"`), chunk(4, 2, `"TWO"`)}
	for _, r := range readers {
		pieces, last := r.rest()
		if diff := cmp.Diff(want, pieces); diff != "" || last.data != h.task(id) {
			t.Errorf("heard (-want +got)\n%s\nand at last %+v", diff, last)
		}
	}
	task, err := h.sdk.Task(within(t), id)
	check(t, err)
	if string(task.Result) != `"ONETWO"` || task.Attempt != 2 || task.Chunks != 4 || task.AgentID != "b2" {
		t.Errorf("%s", schemas.MustEncode(task))
	}
}

// A reader whose connection breaks again and again, and who comes back with Last-Event-ID to either dispatcher, gets each chunk once.
func TestAReaderThatIsCutOffAgainAndAgain(t *testing.T) {
	t.Parallel()
	const chunks = 600
	h := newHouse(t)
	h.work("a1", func(ctx context.Context, _ *worker.Task, to worker.Emit) (schemas.Payload, error) {
		for n := range chunks {
			if err := emit(ctx, to, strconv.Itoa(n+1)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}, "echo")
	id := h.submit(schemas.ReachMessage{Capability: "echo", ResponseMode: schemas.ModeStream}).TaskID
	random := rand.New(rand.NewPCG(3, 4))
	var got []string
	last := "0"
	for cuts := 0; last != "end"; cuts++ {
		r := h.follow(cuts%2, id, last)
		for left := 1 + random.IntN(20); left > 0 && last != "end"; left-- {
			one, found := r.next()
			if !found {
				break
			}
			if one.name == "chunk" {
				got = append(got, one.data)
			}
			if one.id != "" {
				last = one.id
			}
			if one.name == "notice" {
				t.Fatalf("after chunk %s: %s", last, one.data)
			}
		}
		r.leave()
	}
	var want []string
	for n := range chunks {
		want = append(want, chunk(n+1, 1, strconv.Itoa(n+1)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("chunks (-want +got)\n%.2000s", diff)
	}
}

// Literals arrive as they were written, from the agent's mouth to every reader's ear.
func TestLiteralsStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	literals := []string{
		"9007199254740993", "9223372036854775807", "18446744073709551615", "0.1", "1.0", "1e2", "-0", `"\u00e9<b>"`,
		"1234567890123456789012345678901234567890.5", `{"z":1.0,"a":[-0,1E+2]}`,
	}
	h := newHouse(t)
	h.work("a1", func(ctx context.Context, _ *worker.Task, to worker.Emit) (schemas.Payload, error) {
		return nil, emit(ctx, to, literals...)
	}, "echo")
	id := h.submit(schemas.ReachMessage{Capability: "echo", ResponseMode: schemas.ModeStream}).TaskID
	var want, overNATS []string
	for n, literal := range literals {
		want = append(want, chunk(n+1, 1, literal))
	}
	overHTTP, _ := h.follow(0, id, "0").rest()
	if diff := cmp.Diff(want, overHTTP); diff != "" {
		t.Errorf("over HTTP (-want +got)\n%s", diff)
	}
	for one, err := range h.sdk.Chunks(within(t), id) {
		check(t, err)
		overNATS = append(overNATS, chunk(int(one.N), one.Attempt, string(one.Data)))
	}
	if diff := cmp.Diff(want, overNATS); diff != "" {
		t.Errorf("over NATS (-want +got)\n%s", diff)
	}
}

// Many readers of one stream, each at its own pace, all get all of it: chunk by chunk, or, one that a slow machine has held up for
// too long, the first chunks, a word about it, and the whole result.
func TestManyReaders(t *testing.T) {
	t.Parallel()
	const chunks = 200
	h := newHouse(t)
	h.work("a1", func(ctx context.Context, _ *worker.Task, to worker.Emit) (schemas.Payload, error) {
		for n := range chunks {
			if err := emit(ctx, to, fmt.Sprint(n+1)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}, "echo")
	id := h.submit(schemas.ReachMessage{Capability: "echo", ResponseMode: schemas.ModeStream}).TaskID
	type reading struct {
		pieces []string
		last   event
	}
	heard := make(chan reading, 10)
	for n := range 10 {
		r := h.follow(n%2, id, "0")
		go func() {
			pieces, last := r.rest()
			heard <- reading{pieces, last}
		}()
	}
	for range 10 {
		got := <-heard
		switched := len(got.pieces) > 0 && strings.Contains(got.pieces[len(got.pieces)-1], `"notice"`)
		if len(got.pieces) != chunks && !switched {
			t.Errorf("a reader got %d pieces, and no word about the others", len(got.pieces))
		}
		if got.last.name != "done" || !strings.Contains(got.last.data, fmt.Sprintf(",%d]", chunks)) {
			t.Errorf("a reader's last event is %s without the whole result", got.last.name)
		}
	}
}
