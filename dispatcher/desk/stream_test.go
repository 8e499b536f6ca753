package desk_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/dispatcher/desk"
	"github.com/agentreach/agent-reach/schemas"
)

func (a *claimer) chunk(g given, n int64) *schemas.Chunk {
	return &schemas.Chunk{
		AgentID: a.id, InstanceID: a.instance, TaskID: g.message.TaskID, Attempt: 1, N: n, Data: fmt.Appendf(nil, `"c%d"`, n),
	}
}

func TestChunksReachTheirReadersInOrder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo)
	task := h.submit("echo", `1`, func(m *schemas.ReachMessage) { m.ResponseMode = schemas.ModeStream })
	g := a.one(a.claim(d))
	events, err := h.Follow(t.Context(), schemas.DefaultTenant, task.TaskID, 0)
	check(t, err)
	defer events.Close()

	elsewhere := h.desk()
	read := make(chan struct{}) // what the first desk has taken: only that one has it
	sent := make(chan error, 1)
	go func() {
		sent <- func() error {
			for n := int64(1); n <= 40; n++ {
				at := d
				if n > 20 { // the agent goes on at another desk
					<-read
					at = elsewhere
				}
				for range 2 { // the answer to the first was lost
					if heard, err := at.Chunk(t.Context(), g.sequence, a.chunk(g, n)); err != nil || heard.Ack != n {
						return fmt.Errorf("chunk %d: %+v, %w", n, heard, err)
					}
				}
			}
			_, err := elsewhere.Finish(t.Context(), a.result(g, `"whole"`))
			return err
		}()
	}()
	var got []string
	for {
		event, err := events.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		check(t, err)
		if event.Chunk != nil {
			if got = append(got, string(event.Chunk.Data)); len(got) == 20 {
				close(read)
			}
		}
	}
	check(t, <-sent)
	for i, data := range got {
		if want := fmt.Sprintf(`"c%d"`, i+1); data != want {
			t.Fatalf("piece %d is %s", i+1, data)
		}
	}
	if len(got) != 40 {
		t.Errorf("%d pieces, want 40", len(got))
	}
	if ended := h.ends(task.TaskID); string(ended.Result) != `"whole"` || ended.Chunks != 40 {
		t.Errorf("ended %+v", ended)
	}
}

func TestAChunkAfterAGapIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(), h.claimer("phone", echo)
	h.submit("echo", `1`)
	g := a.one(a.claim(d))
	_, err := d.Chunk(t.Context(), g.sequence, a.chunk(g, 1))
	check(t, err)
	_, err = d.Chunk(t.Context(), g.sequence, a.chunk(g, 3))
	wantCode(t, err, schemas.OutOfRange, "CHUNK_MISSING")
	_, err = d.Chunk(t.Context(), g.sequence+1, a.chunk(g, 2))
	wantCode(t, err, schemas.Aborted, "SUPERSEDED")
}

// A reader that takes nothing holds the agent up, and no more than a window is taken from it.
func TestAReaderThatIsBehindHoldsTheAgentUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d, a := h.desk(func(c *desk.Config) { c.ChunkWait = 50 * time.Millisecond }), h.claimer("phone", echo)
	task := h.submit("echo", `1`, func(m *schemas.ReachMessage) { m.ResponseMode = schemas.ModeStream })
	g := a.one(a.claim(d))
	events, err := h.Follow(t.Context(), schemas.DefaultTenant, task.TaskID, 0)
	check(t, err)
	defer events.Close()
	_, err = events.Next(t.Context()) // it is there, and asks for nothing more
	check(t, err)
	n := int64(1)
	for ; n <= 1000; n++ {
		if _, err = d.Chunk(t.Context(), g.sequence, a.chunk(g, n)); err != nil {
			break
		}
	}
	if err == nil {
		t.Fatal("1,000 chunks were taken though nobody reads them")
	}
	wantCode(t, err, schemas.ResourceExhausted, "WINDOW_FULL")
}
