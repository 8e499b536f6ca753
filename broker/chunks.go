package broker

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker/window"
	"github.com/agentreach/agent-reach/schemas"
)

// headerReader names the one reader that a chunk or notice is sent to. What all readers are to hear has no such header.
const headerReader = "Reach-Reader"

// headerReaderBytes is what that header may add to a message.
const headerReaderBytes = 256

// ErrStreamEnded says that a stream takes no more chunks: its attempt has ended, or its worker stops.
var ErrStreamEnded = errors.New("the stream of chunks has ended")

// ChunkConfig has the bounds and times of streams of chunks. The zero value of each is its default.
type ChunkConfig struct {
	Limits    window.Limits
	Beat      time.Duration // between two words of a reader, whatever happens; 1 s
	AckDelay  time.Duration // after which the last chunks are acknowledged where no more come; 10 ms
	Patience  time.Duration // of a reader, after the end of its task, for chunks that are missing; 2 s
	Linger    time.Duration // how long a stream that has ended still serves readers that are silent; 5 s
	LingerMax time.Duration // and those that are not; 1 min
}

// Bounds of the streams of one agent that have ended and are kept for readers.
const (
	maxLingering      = 1024
	maxLingeringBytes = 64 << 20
)

func (c ChunkConfig) withDefaults() ChunkConfig {
	c.Limits = c.Limits.WithDefaults()
	c.Beat = cmp.Or(c.Beat, time.Second)
	c.AckDelay = cmp.Or(c.AckDelay, 10*time.Millisecond)
	c.Patience = cmp.Or(c.Patience, 2*time.Second)
	c.Linger = cmp.Or(c.Linger, 5*time.Second)
	c.LingerMax = cmp.Or(c.LingerMax, time.Minute)
	return c
}

// Piece is one thing that the reader of a stream is given: a chunk or a notice.
type Piece struct {
	Chunk  *schemas.Chunk
	Notice *schemas.Notice
}

// taskOf is the last token of a chunk's or credit's subject, and agentOfChunk the one before.
func taskOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

func agentOfChunk(subject string) string {
	rest, _ := strings.CutPrefix(subject, "reach.chunk.")
	agent, _, _ := strings.Cut(rest, ".")
	return agent
}

// publishTo sends a message to one reader, or to all.
func (c *Conn) publishTo(subject, reader string, body []byte) error {
	m := &nats.Msg{Subject: subject, Data: body}
	if reader != "" {
		m.Header = nats.Header{headerReader: {reader}}
	}
	return c.publish(m)
}

// newReaderName tells this reader from all others.
func newReaderName() string {
	var id [8]byte
	_, _ = rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// ring wakes whoever waits for the bell; one ring is as good as many.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}
