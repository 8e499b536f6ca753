package schemas

import "github.com/go-json-experiment/json/jsontext"

// Chunk is one piece of a streamed result. N counts from 1 over the whole task and runs on across attempts. One that is posted, by an
// agent that claims its tasks, says whose it is, and its N counts from 1 within the attempt.
type Chunk struct {
	V          Version `json:"v"`
	AgentID    string  `json:"agent_id,omitzero"`
	InstanceID string  `json:"instance_id,omitzero"`
	TaskID     string  `json:"task_id"`
	Attempt    int     `json:"attempt"`
	N          int64   `json:"n"`
	Data       Payload `json:"data"`

	Unknown jsontext.Value `json:",embed"`
}

// What a Notice tells the readers of a stream.
const (
	NoticeRestarted   = "restarted"    // a new attempt begins at Next, or, before that is known, is about to: drop what you have
	NoticeModeChanged = "mode_changed" // from here on you get Mode: one complete result
	NoticeGap         = "gap"          // From to To are no longer at hand
)

// ModeAggregate is the mode of a reader that gets one complete result in place of chunks.
const ModeAggregate = "aggregate"

// Notice goes the same way as Chunks, and has no N.
type Notice struct {
	V       Version `json:"v"`
	TaskID  string  `json:"task_id,omitzero"` // where the way that it comes does not say so
	Notice  string  `json:"notice"`
	Attempt int     `json:"attempt,omitzero"`
	Next    int64   `json:"next,omitzero"`
	Mode    string  `json:"mode,omitzero"`
	From    int64   `json:"from,omitzero"`
	To      int64   `json:"to,omitzero"`
}

// MaxChunk is the highest number that a chunk may have: the largest integer that every JSON reader takes.
const MaxChunk = 1<<53 - 1

// MaxReaderName bounds the name of a reader in bytes.
const MaxReaderName = 64

// Credit is a reader's answer to Chunks: Ack has been consumed with all before it, and Resume is to be sent again with all after it.
// Reader tells several readers of one stream apart; those that give no name count as one. Leave says that the reader has gone.
type Credit struct {
	V      Version `json:"v"`
	Reader string  `json:"reader,omitzero"`
	Ack    int64   `json:"ack,omitzero"`
	Resume int64   `json:"resume,omitzero"`
	Leave  bool    `json:"leave,omitzero"`
}
