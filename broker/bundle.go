package broker

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/schemas"
)

// A bundle is one message that carries several requests of one kind: their bodies one after the other, and in the header Reach-Bundle
// how many bytes each has, "312,298". It goes to a subject of its own, so that a dispatcher that knows no bundles never hears one. Its
// answer is a message of the same form, or several while some requests take longer than others: for each answer the place of its request,
// its bytes and, of an error, the code, "0:57,1:131:NOT_FOUND".
const headerBundle = "Reach-Bundle"

// Bounds of a bundle.
const (
	maxBundled     = 128       // requests
	maxBundleBytes = 128 << 10 // of their bodies
)

// slack is how long an answer waits for the others of its bundle while none of them comes.
const slack = 20 * time.Millisecond

// unbundled are the requests of a bundle; nil if the header does not say what the body has.
func (c *Conn) unbundled(subject, reply string, header nats.Header, data []byte) []*Request {
	sizes := strings.Split(header.Get(headerBundle), ",")
	if len(sizes) > maxBundled {
		return nil
	}
	b := &bundle{conn: c, reply: reply, left: len(sizes), room: int(c.MaxPayload()) - headerRoom}
	requests := make([]*Request, len(sizes))
	for i, text := range sizes {
		size, err := strconv.Atoi(text)
		if err != nil || size < 0 || size > len(data) {
			return nil
		}
		requests[i] = &Request{Subject: subject, Agent: agentOf(subject), Data: data[:size:size], conn: c, bundle: b, place: i}
		data = data[size:]
	}
	if len(data) > 0 {
		return nil
	}
	return requests
}

// headerRoom is what the headers of a bundle or its answer may take.
const headerRoom = 8 << 10

// bundle gathers the answers to requests that came together.
type bundle struct {
	conn  *Conn
	reply string
	room  int // of one message

	mu     sync.Mutex
	left   int // requests that are not answered
	quiet  *time.Timer
	places []string // of the answers that are not sent
	body   []byte
}

// answer takes the answer to one request. It is sent with the last of them, or when they let it wait.
func (b *bundle) answer(place int, code schemas.Code, body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.body)+len(body) > b.room {
		b.send()
	}
	at := strconv.Itoa(place) + ":" + strconv.Itoa(len(body))
	if code != "" {
		at += ":" + string(code)
	}
	b.places, b.body = append(b.places, at), append(b.body, body...)
	switch b.left--; {
	case b.left == 0:
		b.send()
	case b.quiet == nil:
		b.quiet = time.AfterFunc(slack, b.sendWhatIsThere)
	default:
		b.quiet.Reset(slack)
	}
}

func (b *bundle) sendWhatIsThere() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.send()
}

// send sends the answers that are there; the caller holds the lock.
func (b *bundle) send() {
	if b.left == 0 && b.quiet != nil {
		b.quiet.Stop()
	}
	if len(b.places) == 0 {
		return
	}
	b.conn.reply(b.reply, &nats.Msg{Header: nats.Header{headerBundle: {strings.Join(b.places, ",")}}, Data: b.body})
	b.places, b.body = nil, nil
}

// bundled are the answers in a message, each with the place of its request.
func bundled(m *nats.Msg, each func(place int, answer *nats.Msg)) {
	data := m.Data
	for at := range strings.SplitSeq(m.Header.Get(headerBundle), ",") {
		place, rest, _ := strings.Cut(at, ":")
		size, code, failed := strings.Cut(rest, ":")
		p, wrong := strconv.Atoi(place)
		n, bad := strconv.Atoi(size)
		if wrong != nil || bad != nil || n < 0 || n > len(data) {
			return
		}
		answer := &nats.Msg{Data: data[:n:n]}
		if failed {
			answer.Header = nats.Header{headerErrorCode: {code}}
		}
		each(p, answer)
		data = data[n:]
	}
}
