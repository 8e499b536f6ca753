package process

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/schemas/redact"
)

const (
	tailBytes      = 4 << 10 // of stderr, kept for the error of a program that fails
	chatLine       = 512     // bytes of one line that the log shows
	chatPerSecond  = 20      // lines; the others are counted
	droppedMessage = "agent log lines dropped"
)

// The streams of a program.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Chatter is what a program says besides the protocol: a bounded, masked part of it goes to the log, and the end of stderr is
// kept. Two goroutines use it: the reader of stdout and that of stderr.
type Chatter struct {
	log zerolog.Logger

	mu      sync.Mutex
	tail    []byte
	since   time.Time
	shown   int
	dropped int
}

// Note logs one line that is not of the protocol.
func (c *Chatter) Note(stream string, line []byte) {
	if len(bytes.TrimSpace(line)) == 0 || c.log.GetLevel() > zerolog.DebugLevel || !c.mayShow(time.Now()) {
		return
	}
	c.log.Debug().Str("stream", stream).Str("line", redact.Excerpt(line, chatLine)).Msg("agent log")
}

func (c *Chatter) mayShow(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) >= time.Second {
		if c.dropped > 0 {
			c.log.Debug().Int("lines", c.dropped).Msg(droppedMessage)
		}
		c.since, c.shown, c.dropped = now, 0, 0
	}
	if c.shown == chatPerSecond {
		c.dropped++
		return false
	}
	c.shown++
	return true
}

// drain reads stderr to its end. A very long line counts as several.
func (c *Chatter) drain(stderr io.Reader) {
	from := NewLines(stderr, tailBytes)
	for {
		line, _, err := from.Next()
		if err != nil {
			return
		}
		c.remember(line)
		c.Note(Stderr, line)
	}
}

func (c *Chatter) remember(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail = append(append(c.tail, line...), '\n')
	if over := len(c.tail) - tailBytes; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
}

// LastWords is the end of stderr, masked.
func (c *Chatter) LastWords() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return redact.Excerpt(bytes.TrimSpace(c.tail), tailBytes)
}
