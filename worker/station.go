package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// station is one agent's place in the worker: its inbox, and all that is wired to it.
type station struct {
	cfg       *Config
	agent     Agent
	log       zerolog.Logger
	inbox     *inbox
	runner    *runner
	journal   *journal
	registrar registrar
	listening func() // called once the agent is registered and heard
}

func newStation(cfg *Config, agent Agent, journal *journal, listening func()) *station {
	s := &station{
		cfg: cfg, agent: agent, journal: journal, listening: sync.OnceFunc(listening),
		log: cfg.Logger.With().Str("agent_id", agent.Registration.AgentID).Logger(),
	}
	words := new(words)
	rules := new(chunkRules)
	s.agent.Handler = &translator{Handler: &chunkGuard{Handler: agent.Handler, rules: rules, words: words}, words: words}
	s.inbox = newInbox(&s.agent.Registration, bounds{
		held: s.agent.Registration.TotalSlots() + cfg.MaxWaiting, bytes: cfg.MaxBytes, excess: cfg.ExcessWait,
	})
	s.runner = &runner{
		cfg: cfg, agent: &s.agent, inbox: s.inbox, journal: journal, words: words, log: s.log,
		courier: newCourier(cfg, agent.Registration.AgentID, s.log),
		mover: &mover{
			conn: cfg.Conn, agentID: agent.Registration.AgentID, timeout: cfg.RequestTimeout, memory: cfg.payloads, room: cfg.MaxPayloads, log: s.log,
		},
	}
	s.registrar = registrar{conn: cfg.Conn, registration: &s.agent.Registration, words: words, rules: rules, timeout: cfg.PullTimeout, log: s.log}
	return s
}

// run serves the agent until ctx ends, and returns when nothing of it runs any more.
func (s *station) run(ctx context.Context) error {
	chunks, err := s.cfg.Conn.WriteChunks(s.agent.Registration.AgentID)
	if err != nil {
		return err
	}
	defer chunks.Close()
	s.runner.chunks = chunks
	defer s.runner.runs.Wait()
	s.repeat(ctx)
	again := backoff{first: 100 * time.Millisecond, most: 5 * time.Second}
	for {
		registered, err := s.registrar.register(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.attend(ctx, registered); !errors.Is(err, errDisplaced) {
			return err
		}
		s.log.Error().Msg("another process serves this agent_id now; all its tasks here are dropped")
		if !sleep(ctx, again.next()) {
			return nil
		}
	}
}

// attend serves the agent under one registration.
func (s *station) attend(ctx context.Context, registered schemas.Registered) error {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(ErrStopping)
	intake := &intake{
		inbox: s.inbox, journal: s.journal, registration: &s.agent.Registration, resultLimit: s.cfg.ResultLimit,
		life: life, now: s.cfg.Now, log: s.log,
	}
	s.inbox.open(registered.State == schemas.AgentDraining)
	heard, err := s.listen(intake)
	if err != nil {
		s.inbox.close(ErrStopping)
		return err
	}
	loops := s.startLoops(life, intake, registered)
	s.listening()

	why := s.attended(ctx, loops)
	owes := true
	if errors.Is(why, errDisplaced) {
		s.inbox.close(ErrSuperseded)
	} else {
		owes = !s.drain(life)
		s.inbox.close(ErrStopping)
	}
	heard.close()
	end(ErrStopping)
	loops.stop()
	if !owes || s.journal == nil { // else another process may bring what is owed: it gets the grace after a death
		loops.beater.goodbye(context.WithoutCancel(ctx))
	}
	return why
}

// subscriptions are closed together.
type subscriptions []*broker.Subscription

func (s subscriptions) close() {
	for _, one := range s {
		one.Close()
	}
}

// listen hears the agent's assignments and what dispatchers say to it. Nothing is heard before the agent is registered: two
// processes with one agent_id would both run what the feed says.
func (s *station) listen(in *intake) (subscriptions, error) {
	id := s.agent.Registration.AgentID
	probe := &probe{agent: &s.agent, inbox: s.inbox, timeout: s.cfg.ProbeTimeout, now: s.cfg.Now}
	words := &control{inbox: s.inbox, voice: s.agent.Voice, intake: in, probe: probe, instance: s.agent.Registration.InstanceID, wait: s.cfg.CancelWait, log: s.log}
	said, err := s.cfg.Conn.Serve(broker.SubjectControl(id), words.handle, broker.Plain())
	if err != nil {
		return nil, err
	}
	feed, err := s.cfg.Conn.FollowAssigned(id, func(e broker.Entry) { in.take(e) })
	if err != nil {
		said.Close()
		return nil, err
	}
	return subscriptions{feed, said}, nil
}

// loops are what runs for as long as the agent is attended.
type loops struct {
	running sync.WaitGroup
	beater  *beater
	lost    chan error // why the agent is no longer attended; at most one
	deafen  func()     // to trouble with the connection
}

// stop returns when all have ended; their context must have.
func (l *loops) stop() {
	l.deafen()
	l.running.Wait()
}

func (s *station) startLoops(life context.Context, in *intake, registered schemas.Registered) *loops {
	id, instance := s.agent.Registration.AgentID, s.agent.Registration.InstanceID
	start := &starter{inbox: s.inbox, runner: s.runner, now: s.cfg.Now}
	pull := &puller{
		conn: s.cfg.Conn, inbox: s.inbox, intake: in, courier: s.runner.courier,
		timeout: s.cfg.PullTimeout, instance: instance, log: s.log,
	}
	report := &reporter{
		conn: s.cfg.Conn, inbox: s.inbox, agentID: id, instance: instance, now: s.cfg.Now, log: s.log,
		after: s.cfg.ReceiptAfter, interval: shorter(s.cfg.ReceiptInterval, registered.ReceiptIntervalMS),
	}
	l := &loops{lost: make(chan error, 1), beater: &beater{
		cfg: s.cfg, agent: &s.agent, inbox: s.inbox, intake: in, log: s.log,
		interval: shorter(s.cfg.HeartbeatInterval, registered.HeartbeatIntervalMS),
	}}
	l.running.Go(func() { start.run(life) })
	l.running.Go(func() { pull.run(life) })
	l.running.Go(func() { report.run(life) })
	l.running.Go(func() { s.beat(life, l) })
	l.deafen = s.cfg.Conn.OnTrouble(func(broker.Trouble) {
		pull.repair()
		s.inbox.beat.ring()
	})
	pull.repair()
	return l
}

// minInterval bounds what a dispatcher may ask for.
const minInterval = 20 * time.Millisecond

// shorter is own, or what a dispatcher asks for if that is shorter.
func shorter(own time.Duration, askedMS int64) time.Duration {
	if asked := schemas.Duration(askedMS); asked > 0 && asked < own {
		return max(asked, minInterval)
	}
	return own
}

// beat sends heartbeats until the agent is lost: another process serves it, or its registration is refused.
func (s *station) beat(life context.Context, l *loops) {
	for life.Err() == nil {
		err := l.beater.run(life)
		if err != nil {
			err = s.reregister(life, err)
		}
		if err != nil {
			l.lost <- err
			return
		}
	}
}

// reregister tells a dispatcher of the agent that has forgotten it; every other refusal of a heartbeat says that another process
// serves the agent. A failure that may pass shows again at the next heartbeat.
func (s *station) reregister(life context.Context, why error) error {
	if codeOf(why) != schemas.NotFound {
		return errDisplaced
	}
	s.log.Warn().Msg("the dispatchers do not know this agent any more; registering again")
	_, err := s.registrar.once(life)
	switch {
	case codeOf(err) == schemas.AlreadyExists:
		return errDisplaced
	case hopeless(err):
		return err
	}
	sleep(life, s.cfg.HeartbeatGap)
	return nil
}

// attended returns nil when ctx ends, or why the agent can be attended no more.
func (s *station) attended(ctx context.Context, l *loops) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.lost:
		return err
	}
}

// drain lets what has begun come to its end and hands back the rest; what then still runs is told to stop, and gets the time that
// a handler has for that and one answer of a dispatcher. It reports whether a dispatcher has had the last word on everything.
func (s *station) drain(life context.Context) bool {
	s.inbox.drain(true)
	if held := len(s.inbox.sequences()); held > 0 {
		s.log.Info().Int("tasks", held).Dur("at_most_ms", s.cfg.DrainTimeout).Msg("stopping when what runs has ended")
	}
	if s.await(life, s.cfg.DrainTimeout, s.inbox.empty) {
		return true
	}
	s.log.Warn().Msg("tasks are not at their end after the drain timeout; what runs is told to stop")
	s.inbox.cancelRunning(ErrStopping)
	s.await(life, s.cfg.StopGrace, s.inbox.still)
	return s.await(life, s.cfg.RequestTimeout, s.inbox.empty)
}

// await waits until the inbox is as wanted, and reports whether that came in time.
func (s *station) await(life context.Context, within time.Duration, wanted func() bool) bool {
	ctx, cancel := context.WithTimeout(life, within)
	defer cancel()
	for !wanted() {
		if !s.inbox.settle.wait(ctx, 0) {
			return wanted()
		}
	}
	return true
}
