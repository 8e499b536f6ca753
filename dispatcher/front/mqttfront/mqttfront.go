// Package mqttfront is the way in, and out, for devices that speak MQTT: phones that submit tasks and phones that serve them. The
// broker has the MQTT listener; this package knows none of it, and sees the topic reach/v1/<device>/<verb> as the subject
// reach.v1.<device>.<verb>. What it sends to reach.v1.<device>.in.<kind> reaches a device that is connected now, and is lost for one
// that is not: nothing here relies on a message having arrived. Whatever a device says is answered, and it repeats what was not;
// whatever it must hear is sent again until it has acknowledged it. What is still owed to a device is a bucket of the broker's, and
// what it works on is in the ledger, so that any dispatcher can go on for it.
//
// Every dispatcher has a Bridge. What a caller asks (submit, get, cancel) is answered by any one of them. All else of a device is
// done by its owner, one of the dispatchers by rendezvous hashing: there it has a session, with one goroutine that alone touches what
// the session knows; handlers and followers leave their news in its mail. For a device that serves tasks the session speaks the
// worker's protocol, as a worker beside it would. What it writes has names that follow from what it is about, so that two owners, as
// there may be for a moment, do nothing twice.
package mqttfront

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// Config of a bridge. Conn and Service are needed; the zero value of all else is useful.
type Config struct {
	Conn    *broker.Conn
	Service front.Service
	Owns    func(device string) bool // whether a device is this dispatcher's to look after; nil: all are
	Logger  zerolog.Logger

	HeartbeatTTL   time.Duration // silence after which a device is taken for gone; 45 s
	RequestTimeout time.Duration // for one answer of a dispatcher; 2 s
	ResendFirst    time.Duration // before an end that was not acknowledged is sent again; 2 s
	ResendMost     time.Duration // the longest wait between two sendings; 30 s
	ExcessWait     time.Duration // for a slot of the device; what would wait longer goes back; 100 ms
	StopGrace      time.Duration // for a device to stop after its run limit; 10 s
	CancelWait     time.Duration // for a device to confirm a cancel; 4 s
	Look           time.Duration // how often it is looked which devices are this dispatcher's; 250 ms

	MaxDevices int // that are known at once; 10,000
	MaxOwed    int // tasks whose end a device may be owed; 1,024
	Window     int // ends on their way to a device, unacknowledged; 16
	Followed   int // tasks of a device that are followed at once; 64

	Now func() time.Time // the clock; time.Now
}

func (c Config) withDefaults() Config {
	c.HeartbeatTTL = cmp.Or(c.HeartbeatTTL, 45*time.Second)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 2*time.Second)
	c.ResendFirst = cmp.Or(c.ResendFirst, 2*time.Second)
	c.ResendMost = cmp.Or(c.ResendMost, 30*time.Second)
	c.ExcessWait = cmp.Or(c.ExcessWait, 100*time.Millisecond)
	c.StopGrace = cmp.Or(c.StopGrace, 10*time.Second)
	c.CancelWait = cmp.Or(c.CancelWait, 4*time.Second)
	c.Look = cmp.Or(c.Look, 250*time.Millisecond)
	c.MaxDevices = cmp.Or(c.MaxDevices, 10_000)
	c.MaxOwed = cmp.Or(c.MaxOwed, 1024)
	c.Window = cmp.Or(c.Window, 16)
	c.Followed = cmp.Or(c.Followed, 64)
	if c.Owns == nil {
		c.Owns = func(string) bool { return true }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Bridge stands between devices and one dispatcher.
type Bridge struct {
	cfg     Config
	conn    *broker.Conn
	service front.Service
	log     zerolog.Logger
	strange zerolog.Logger // of names that are none; once a minute, since anybody can say them any number of times
	flooded zerolog.Logger // of devices that say too much; likewise
	ready   chan struct{}

	mu       sync.Mutex
	devices  map[string]*device
	agents   map[string]*schemas.Registration // of devices that serve tasks, by device
	owed     map[string]map[string]broker.OwedRecord
	full     bool // the log has it that there are too many devices
	sessions sync.WaitGroup
	life     context.Context // of sessions
}

// device is what is known of one device. Its fields are the bridge's to lock.
type device struct {
	name       string
	connection string    // the last one that it has named
	heard      time.Time // zero: never
	gone       bool      // it said goodbye
	session    *session  // nil where it is another dispatcher's, or needs none
}

// New prepares a bridge. Nothing happens before Run.
func New(cfg Config) (*Bridge, error) {
	cfg = cfg.withDefaults()
	if cfg.Conn == nil || cfg.Service == nil {
		return nil, errors.New("an MQTT bridge needs a connection and a service")
	}
	return &Bridge{
		cfg: cfg, conn: cfg.Conn, service: cfg.Service, ready: make(chan struct{}),
		log: cfg.Logger, strange: onceAMinute(cfg.Logger), flooded: onceAMinute(cfg.Logger),
		devices: make(map[string]*device), agents: make(map[string]*schemas.Registration),
		owed: make(map[string]map[string]broker.OwedRecord),
	}, nil
}

// onceAMinute is a log that leaves the rest out.
func onceAMinute(log zerolog.Logger) zerolog.Logger {
	return log.Sample(&zerolog.BurstSampler{Burst: 1, Period: time.Minute})
}

// Ready is closed once devices are heard.
func (b *Bridge) Ready() <-chan struct{} { return b.ready }

// Run serves devices until ctx ends, and returns when all that it started has ended.
func (b *Bridge) Run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	b.life = life
	if err := b.watch(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	heard, err := b.listen()
	if err != nil {
		return err
	}
	close(b.ready)
	b.lookAfter(ctx)
	for _, one := range heard {
		one.Close()
	}
	end()
	b.sessions.Wait()
	return nil
}

// ignoreEnd is err, unless it is only that ctx has ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watch follows the registry and what is owed.
func (b *Bridge) watch(ctx context.Context) error {
	registered, err := b.conn.Agents().Watch(ctx, b.enrol)
	if err != nil {
		return fmt.Errorf("watch the registry: %w", err)
	}
	owed, err := b.conn.Owed().Watch(ctx, b.owe)
	if err != nil {
		return fmt.Errorf("watch what is owed to devices: %w", err)
	}
	for _, ready := range []<-chan struct{}{registered, owed} {
		select {
		case <-ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (b *Bridge) enrol(item broker.Item[broker.AgentRecord]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if item.Deleted || item.Value.Registration.Transport.Type != schemas.TransportMQTT {
		delete(b.agents, item.Key)
		return
	}
	b.agents[item.Key] = &item.Value.Registration
}

// owe takes in a change of what is owed. Of a key that is gone only the key is known.
func (b *Bridge) owe(item broker.Item[broker.OwedRecord]) {
	b.mu.Lock()
	name, taskID, told := item.Value.Device, item.Value.TaskID, true
	if item.Deleted {
		name, taskID, told = splitKey(item.Key)
		delete(b.owed[name], taskID)
		if len(b.owed[name]) == 0 {
			delete(b.owed, name)
		}
	} else {
		if b.owed[name] == nil {
			b.owed[name] = make(map[string]broker.OwedRecord)
		}
		b.owed[name][taskID] = item.Value
	}
	d := b.devices[name]
	if d == nil && !item.Deleted {
		d = b.newDevice(name)
	}
	b.mu.Unlock()
	if d != nil && told {
		b.tell(d, 0, func(s *session) { s.owes(taskID, item.Value, item.Deleted) })
	}
}

// splitKey reads a key of the bucket of what is owed.
func splitKey(key string) (device, taskID string, ok bool) {
	for i := range len(key) {
		if key[i] == '_' {
			return key[:i], key[i+1:], true
		}
	}
	return "", "", false
}

// newDevice makes room for a device that was not known; nil where there are too many. The caller holds the lock.
func (b *Bridge) newDevice(name string) *device {
	if len(b.devices) >= b.cfg.MaxDevices {
		if !b.full {
			b.log.Warn().Int("devices", len(b.devices)).Msg("there are more MQTT devices than may be: the others are not heard")
		}
		b.full = true
		return nil
	}
	d := &device{name: name}
	b.devices[name] = d
	return d
}

// lookAfter sees to it that the devices which are this dispatcher's have a session, and no others, until ctx ends.
func (b *Bridge) lookAfter(ctx context.Context) {
	tick := time.NewTicker(b.cfg.Look)
	defer tick.Stop()
	for {
		b.look()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *Bridge) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.cfg.Now()
	for name, d := range b.devices {
		needed := len(b.owed[name]) > 0 || b.alive(d, now) || d.session != nil && d.session.serves()
		switch mine := b.cfg.Owns(name); {
		case d.session == nil && mine && needed:
			b.open(d)
		case d.session != nil && !(mine && needed):
			d.session.stop()
			d.session = nil
		case d.session == nil && !needed:
			delete(b.devices, name)
			b.full = false
		}
	}
}

// alive reports whether a device may be there now; the caller holds the lock.
func (b *Bridge) alive(d *device, now time.Time) bool {
	return !d.gone && now.Sub(d.heard) < b.cfg.HeartbeatTTL
}

// isAlive is alive for a session.
func (b *Bridge) isAlive(d *device) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.alive(d, b.cfg.Now())
}

// registration is what a device has declared of itself; nil if it serves no tasks.
func (b *Bridge) registration(name string) *schemas.Registration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.agents[name]
}

// open gives a device a session; the caller holds the lock.
func (b *Bridge) open(d *device) {
	ctx, stop := context.WithCancel(b.life)
	s := newSession(b, d, stop)
	for taskID, record := range b.owed[d.name] {
		s.debts.add(taskID, record.Stream)
	}
	d.session = s
	b.sessions.Go(func() { s.run(ctx) })
}

// tell leaves news of so many bytes with the session of a device, if it is this dispatcher's. There is no waiting: what finds no room is
// lost, as anything may be that comes by MQTT.
func (b *Bridge) tell(d *device, bytes int, news func(*session)) {
	b.mu.Lock()
	if d.session == nil && b.cfg.Owns(d.name) && b.life.Err() == nil {
		b.open(d)
	}
	s := d.session
	b.mu.Unlock()
	if s != nil && !s.post(bytes, news) {
		b.flooded.Warn().Str("device", d.name).Msg("a device says more than can be taken in; it has to repeat itself")
	}
}

// send says something to a device. It may not arrive.
func (b *Bridge) send(device, kind string, body any) error {
	encoded, err := schemas.Encode(body)
	if err == nil {
		err = b.conn.Publish(broker.SubjectDeviceIn(device, kind), encoded)
	}
	if err != nil && !errors.Is(err, broker.ErrDisconnected) {
		b.log.Warn().Err(err).Str("device", device).Str("kind", kind).Msg("device not told")
	}
	return err
}

// answer answers what a device said. A failure is a message of its own kind.
func (b *Bridge) answer(device string, a schemas.DeviceAnswer) {
	kind := kindOK
	if a.Error != nil && a.Outcome == "" {
		kind = kindError
	}
	_ = b.send(device, kind, &a)
}

// fail answers with an error. What the device is not told is logged.
func (b *Bridge) fail(device string, a schemas.DeviceAnswer, err error) {
	var known *schemas.Error
	if !errors.As(err, &known) {
		b.log.Error().Err(err).Str("device", device).Str("about", a.About).Msg("request failed")
	}
	a.Error = schemas.AsError(err)
	b.answer(device, a)
}

// guarded runs what a message leads to; a panic ends only that.
func (b *Bridge) guarded(about string, do func()) {
	defer func() {
		if value := recover(); value != nil {
			// The value may hold anything; its type and the stack say where to look.
			b.log.Error().Str("about", about).Str("panic", fmt.Sprintf("%T", value)).Bytes("stack", debug.Stack()).Msg("panic")
		}
	}()
	do()
}
