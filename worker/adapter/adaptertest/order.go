// Package adaptertest is the one suite that every adapter passes. The suite says in the payload of each task what the agent shall
// do (Order); the adapter's own test brings a real agent on its transport, which obeys by calling Obey with its Voice. What an
// agent did is read from a log that the agent itself writes, never from what came back.
package adaptertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// What an agent can be told to do.
const (
	DoEcho     = "echo"     // answer with Value
	DoFail     = "fail"     // answer with an error: Code, Message and Details
	DoStream   = "stream"   // say Count chunks and a progress, then answer with Value
	DoFlood    = "flood"    // say Count chunks of Size bytes, then answer with Value
	DoWait     = "wait"     // answer with Value once the file Gate exists; stop when told to
	DoIgnore   = "ignore"   // as wait, but take no notice of being told to stop
	DoGarbage  = "garbage"  // say what is not JSON, and nothing else
	DoOversize = "oversize" // answer with a text of Size bytes
	DoBreak    = "break"    // begin to answer, and break off: the connection, or the process
)

// Order is the payload of a task of the suite.
type Order struct {
	Do      string          `json:"do"`
	Value   schemas.Payload `json:"value,omitzero"`
	Code    string          `json:"code,omitzero"`
	Message string          `json:"message,omitzero"`
	Details schemas.Payload `json:"details,omitzero"`
	Count   int             `json:"count,omitzero"`
	Size    int             `json:"size,omitzero"`
	Gate    string          `json:"gate,omitzero"`
	Log     string          `json:"log,omitzero"`
}

// Voice is how an agent on some transport says things.
type Voice interface {
	Result(value []byte)
	Error(code, message string, details []byte)
	Chunk(value []byte)
	Progress(fraction float64, message string)
	Garbage(text string) // as it is, in the place of an answer
	Break()              // begin an answer and break off
}

// Obey carries out the order in payload. It belongs to the agent's side: ctx ends when the agent is told to stop.
func Obey(ctx context.Context, taskID string, payload []byte, say Voice) error {
	var order Order
	if err := schemas.Decode(payload, &order); err != nil {
		return fmt.Errorf("obey: %w", err)
	}
	order.note("begun", taskID)
	order.obey(ctx, taskID, say)
	return nil
}

func (o *Order) obey(ctx context.Context, taskID string, say Voice) {
	switch o.Do {
	case DoEcho:
		say.Result(o.Value)
	case DoFail:
		say.Error(o.Code, o.Message, o.Details)
	case DoStream:
		for n := range o.Count {
			say.Chunk(fmt.Appendf(nil, "%d", n+1))
		}
		say.Progress(0.5, "half")
		say.Result(o.Value)
	case DoFlood:
		for n := range o.Count {
			say.Chunk(floodChunk(n+1, o.Size))
		}
		o.note("flooded", taskID)
		say.Result(o.Value)
	case DoWait:
		o.wait(ctx, taskID, say)
	case DoIgnore:
		o.wait(context.WithoutCancel(ctx), taskID, say)
	case DoGarbage:
		say.Garbage("this is not JSON")
	case DoOversize:
		say.Result([]byte(`"` + strings.Repeat("x", o.Size-2) + `"`))
	case DoBreak:
		say.Break()
	}
}

// floodChunk is a text that begins with its number.
func floodChunk(n, size int) []byte { return fmt.Appendf(nil, `"%-*d"`, size-2, n) }

// wait looks for the gate until it is there, an agent's patience is over, or it is told to stop.
func (o *Order) wait(ctx context.Context, taskID string, say Voice) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for patience := time.Now().Add(30 * time.Second); time.Now().Before(patience); {
		if _, err := os.Stat(o.Gate); err == nil {
			say.Result(o.Value)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			o.note("stopped", taskID)
			say.Error(string(schemas.Cancelled), "stopped", nil)
			return
		}
	}
}

// note appends one line to the log. Lines as short as these are written whole, whoever else writes.
func (o *Order) note(what, taskID string) {
	if o.Log == "" {
		return
	}
	f, err := os.OpenFile(o.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	_, _ = fmt.Fprintln(f, what, taskID)
}

// ErrorBody is an error as agents write it: the value under error.
func ErrorBody(code, message string, details []byte) []byte {
	body := map[string]any{"message": message}
	if code != "" {
		body["code"] = code
	}
	if details != nil {
		body["details"] = json.RawMessage(details)
	}
	return schemas.MustEncode(body)
}
