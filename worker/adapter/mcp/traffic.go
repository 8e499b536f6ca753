package mcp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

const (
	methodCall     = "tools/call"
	methodProgress = "notifications/progress"
	methodCancel   = "notifications/cancelled"
)

// traffic sees every message of one session, in order, before the library does: results as the server wrote them, and progress
// before the result that follows it. Its table of calls is behind one lock; its reader is the library's.
type traffic struct {
	mu      sync.Mutex
	byID    map[jsonrpc.ID]*call
	byToken map[string]*call
	untold  map[jsonrpc.ID]chan struct{} // calls that were left: closed when the server has been told so

	version string // of the protocol, once the server has said so
	broken  error  // what the next read fails with
}

func newTraffic() *traffic {
	return &traffic{byID: make(map[jsonrpc.ID]*call), byToken: make(map[string]*call), untold: make(map[jsonrpc.ID]chan struct{})}
}

// over is a transport whose messages t sees.
func (t *traffic) over(inner sdk.Transport) sdk.Transport { return &watched{inner: inner, traffic: t} }

type watched struct {
	inner   sdk.Transport
	traffic *traffic
}

// Connect is that of the transport below.
func (w *watched) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := w.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Connection: conn, traffic: w.traffic}, nil
}

type watchedConn struct {
	sdk.Connection
	traffic *traffic
}

// Write notes under which id a call goes out, and that a cancel has gone out, or cannot.
func (w *watchedConn) Write(ctx context.Context, message jsonrpc.Message) error {
	request, ok := message.(*jsonrpc.Request)
	switch {
	case ok && request.Method == methodCall:
		if c := callOf(ctx); c != nil {
			w.traffic.add(request.ID, c)
		}
	case ok && request.Method == methodCancel:
		defer w.traffic.told(request.Params)
	}
	return w.Connection.Write(ctx, message)
}

// Read hands to each call what is its own.
func (w *watchedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	if w.traffic.broken != nil {
		return nil, w.traffic.broken
	}
	message, err := w.Connection.Read(ctx)
	var long *overlong
	if errors.As(err, &long) {
		return w.traffic.tooLong(long)
	}
	switch m := message.(type) {
	case *jsonrpc.Response:
		w.traffic.response(m)
	case *jsonrpc.Request:
		if m.Method == methodProgress {
			w.traffic.progress(m.Params)
		}
	}
	return message, err
}

func (t *traffic) add(id jsonrpc.ID, c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.id = id
	t.byID[id], t.byToken[c.token] = c, c
}

// remove forgets a call: nobody takes from heard any more.
func (t *traffic) remove(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, c.id)
	delete(t.byToken, c.token)
	close(c.over)
}

// mostUntold is how many cancels that have not gone out the end of a session waits for.
const mostUntold = 1000

// leave is remove for a call that was cancelled: the library tells the server so in its own time.
func (t *traffic) leave(c *call) {
	t.mu.Lock()
	if t.byID[c.id] == c && !c.told && len(t.untold) < mostUntold {
		t.untold[c.id] = make(chan struct{})
	}
	t.mu.Unlock()
	t.remove(c)
}

// told notes that a cancel is out of the house, whether its call was left already or is about to be.
func (t *traffic) told(params []byte) {
	var cancel struct {
		RequestID float64 `json:"requestId"`
	}
	if schemas.Decode(params, &cancel) != nil {
		return
	}
	id, _ := jsonrpc.MakeID(cancel.RequestID)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.byID[id]; c != nil {
		c.told = true
	}
	if untold := t.untold[id]; untold != nil {
		close(untold)
		delete(t.untold, id)
	}
}

// tellAll waits for a while until the server has been told of every call that was left. A session that ended before would leave the server
// at work for nobody.
func (t *traffic) tellAll(within time.Duration) {
	t.mu.Lock()
	untold := slices.Collect(maps.Values(t.untold))
	t.mu.Unlock()
	over := time.NewTimer(within)
	defer over.Stop()
	for _, told := range untold {
		select {
		case <-told:
		case <-over.C:
			return
		}
	}
}

func (t *traffic) find(id jsonrpc.ID) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// emptyResult stands for a result that the library need not read.
var emptyResult = []byte(`{"content":[]}`)

// response keeps a call's result as it was written. Of the server's greeting it keeps the version.
func (t *traffic) response(m *jsonrpc.Response) {
	if c := t.find(m.ID); c != nil {
		if m.Error == nil {
			c.result, m.Result = m.Result, emptyResult
		}
		errors.As(m.Error, &c.refused)
		return
	}
	var greeting struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if schemas.Decode(m.Result, &greeting) == nil && greeting.ProtocolVersion != "" {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.version = greeting.ProtocolVersion
	}
}

func (t *traffic) protocol() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// progressed is a progress notification.
type progressed struct {
	Token    jsontext.Value            `json:"progressToken"`
	Progress float64                   `json:"progress"`
	Total    float64                   `json:"total"`
	Message  string                    `json:"message"`
	Meta     map[string]jsontext.Value `json:"_meta"`
}

func (t *traffic) progress(params []byte) {
	var p progressed
	var token string
	if schemas.Decode(params, &p) != nil || schemas.Decode(p.Token, &token) != nil {
		return
	}
	t.mu.Lock()
	c := t.byToken[token]
	t.mu.Unlock()
	if c == nil {
		return
	}
	select {
	case c.heard <- p:
	case <-c.over:
	}
}

// overlong is a message that was not kept but for its beginning.
type overlong struct {
	beginning []byte
	ended     bool // what follows it can be read
}

// Error says what happened, not what was read.
func (o *overlong) Error() string { return "a message of the server is too long" }

var errTooLong = errors.New("a message of the server is too long")

// tooLong answers the call that an overlong message belongs to: the one it names, or the only one there is.
func (t *traffic) tooLong(o *overlong) (jsonrpc.Message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.byID[idIn(o.beginning)]
	for _, only := range t.byID {
		if c == nil && len(t.byID) == 1 {
			c = only
		}
	}
	if c == nil {
		return nil, errTooLong
	}
	if !o.ended {
		t.broken = errTooLong
	}
	c.tooLarge.Store(true)
	return &jsonrpc.Response{ID: c.id, Error: errTooLong}, nil
}

// idIn is the id in the beginning of a message; invalid if it does not stand there.
func idIn(beginning []byte) jsonrpc.ID {
	number, err := strconv.ParseInt(answer.Member(beginning, "id"), 10, 64)
	if err != nil {
		return jsonrpc.ID{}
	}
	id, _ := jsonrpc.MakeID(float64(number))
	return id
}
