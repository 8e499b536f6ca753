package mqttfront

import (
	"context"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// What a device says: the last level of its topics.
const (
	verbSubmit    = "submit"
	verbGet       = "get"
	verbCancel    = "cancel"
	verbHello     = "hello"
	verbAck       = "ack"
	verbResume    = "resume"
	verbRegister  = "register"
	verbHeartbeat = "heartbeat"
	verbClaim     = "claim"
	verbReceipt   = "receipt"
	verbRelease   = "release"
	verbChunk     = "chunk"
	verbResult    = "result"
	verbStopped   = "stopped"
	verbOffline   = "offline"
)

// What it hears: the last level of reach/v1/<device>/in/<kind>.
const (
	kindAccepted   = "accepted"
	kindState      = "state"
	kindProgress   = "progress"
	kindChunk      = "chunk"
	kindNotice     = "notice"
	kindResult     = "result"
	kindRegistered = "registered"
	kindTask       = "task"
	kindCancel     = "cancel"
	kindOK         = "ok"
	kindError      = "error"
)

// sessionVerbs are what the owner of a device does for it.
var sessionVerbs = map[string]func(*session, []byte){
	verbHello:     (*session).hello,
	verbAck:       (*session).ack,
	verbResume:    (*session).resume,
	verbRegister:  (*session).register,
	verbHeartbeat: (*session).heartbeat,
	verbClaim:     (*session).claim,
	verbReceipt:   (*session).receipt,
	verbRelease:   (*session).release,
	verbChunk:     (*session).chunk,
	verbResult:    (*session).result,
	verbStopped:   (*session).stopped,
	verbOffline:   (*session).offline,
}

// listen hears devices: what callers ask as one of all dispatchers, all else as each of them, in the order in which it was said.
func (b *Bridge) listen() (heard []*broker.Subscription, err error) {
	defer func() {
		if err != nil {
			for _, one := range heard {
				one.Close()
			}
		}
	}()
	for verb, do := range b.callerVerbs() {
		one, err := b.conn.Serve(broker.SubjectDevice(broker.Any, verb), func(ctx context.Context, r *broker.Request) {
			if name, _, legal := broker.ParseDevice(r.Subject); legal {
				b.guarded(verb, func() { do(ctx, name, r.Data) })
			}
		})
		if err != nil {
			return heard, err
		}
		heard = append(heard, one)
	}
	all, err := b.conn.Serve(broker.SubjectDevice(broker.Any, broker.Any), b.hear, broker.Plain(), broker.Serial())
	if err != nil {
		return heard, err
	}
	return append(heard, all), nil
}

// hear takes in what a device says: every dispatcher notes that it is there, its owner does what it asks.
func (b *Bridge) hear(_ context.Context, r *broker.Request) {
	name, verb, legal := broker.ParseDevice(r.Subject)
	if !legal {
		b.strange.Warn().Msg("a device of no legal name was heard, and is not answered: it takes lower-case letters, digits and -")
		return
	}
	var beat schemas.DeviceBeat
	if verb == verbHello || verb == verbHeartbeat || verb == verbOffline {
		if len(r.Data) > 0 && schemas.Accept(r.Data, &beat) != nil {
			beat = schemas.DeviceBeat{} // the owner says what is wrong with it
		}
	}
	if verb == verbOffline {
		beat.State = schemas.AgentOffline
	}
	d := b.note(name, beat)
	do, known := sessionVerbs[verb]
	switch {
	case d == nil:
	case known:
		data := r.Data
		b.tell(d, len(data), func(s *session) { b.guarded(verb, func() { do(s, data) }) })
	case verb != verbSubmit && verb != verbGet && verb != verbCancel && b.cfg.Owns(name):
		b.answer(name, schemas.DeviceAnswer{About: verb, Error: schemas.NewError(schemas.Unimplemented, "", "no such topic; see docs/mqtt.md")})
	}
}

// note notes that a device has spoken; nil where it is not to be heeded: there are too many, or an older connection of it says goodbye
// after the next one has begun.
func (b *Bridge) note(name string, beat schemas.DeviceBeat) *device {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.devices[name]
	if d == nil {
		if d = b.newDevice(name); d == nil {
			return nil
		}
	}
	if beat.State == schemas.AgentOffline {
		if beat.Connection != "" && d.connection != "" && beat.Connection != d.connection {
			return nil
		}
		d.gone = true
		return d
	}
	if beat.Connection != "" {
		d.connection = beat.Connection
	}
	d.heard, d.gone = b.cfg.Now(), false
	return d
}
