package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/schemas"
)

// listened is a dispatcher that knows one agent, and whose clock a test sets.
type listened struct {
	*Dispatcher
	now time.Time
}

func listenTo(t *testing.T) *listened {
	t.Helper()
	l := &listened{now: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)}
	l.Dispatcher = crowded(t, 0)
	l.cfg.Now = func() time.Time { return l.now }
	l.view.judging = l.now
	r := schemas.Registration{AgentID: "thinker", InstanceID: "1", Version: "1.0.0", Capabilities: []schemas.Offer{{ID: "echo"}}}
	l.view.roster.put(broker.AgentRecord{Registration: r, State: schemas.AgentOnline}, 1, nil, l.now)
	return l
}

func (l *listened) beat(sent time.Time, instance string) {
	l.hearHeartbeat(context.Background(), &broker.Request{Agent: "thinker", Data: schemas.MustEncode(schemas.Heartbeat{
		AgentID: "thinker", InstanceID: instance, State: schemas.AgentOnline, Capabilities: []string{"echo"}, Time: schemas.At(sent),
	})})
}

func (l *listened) goodbye(instance string) {
	l.hearHeartbeat(context.Background(), &broker.Request{Agent: "thinker", Data: schemas.MustEncode(schemas.Heartbeat{
		AgentID: "thinker", InstanceID: instance, State: schemas.AgentOffline, Capabilities: []string{},
	})})
}

func (l *listened) receipt(sent time.Time, instance string) {
	l.hearReceipt(context.Background(), &broker.Request{Agent: "thinker", Data: schemas.MustEncode(schemas.Receipt{
		AgentID: "thinker", InstanceID: instance, Time: schemas.At(sent),
	})})
}

func TestHowLongAnAgentIsTakenToLive(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tt := range []struct {
		name string
		says func(l *listened, second int) // once a second, for two minutes
		last int                           // the last second in which it is online
	}{
		{"one that says nothing", func(*listened, int) {}, 44},
		{"one that beats", func(l *listened, at int) {
			if at%15 == 0 {
				l.beat(l.now, "1")
			}
		}, 120},
		{"one that thinks for two minutes: it beats no more, and its receipts come", func(l *listened, at int) {
			if at%15 == 0 {
				l.receipt(l.now, "1")
			}
		}, 120},
		{"one that beats rarely, with receipts in between", func(l *listened, at int) {
			switch {
			case at%60 == 0:
				l.beat(l.now, "1")
			case at%30 == 0:
				l.receipt(l.now, "1")
			}
		}, 120},
		{"one that stops in both ways", func(l *listened, at int) {
			if at <= 30 && at%15 == 0 {
				l.beat(l.now, "1")
				l.receipt(l.now, "1")
			}
		}, 30 + 44},
		{"one whose clock is a day ahead", func(l *listened, at int) {
			if at == 30 {
				l.beat(l.now.Add(24*time.Hour), "1")
				l.receipt(l.now.Add(24*time.Hour), "1")
			}
		}, 30 + 44},
		{"one whose clock is a day behind", func(l *listened, at int) {
			if at%15 == 0 {
				l.beat(l.now.Add(-24*time.Hour), "1")
			}
		}, 120},
		{"one that says goodbye", func(l *listened, at int) {
			switch {
			case at == 30:
				l.goodbye("1")
			case at < 30 && at%15 == 0:
				l.beat(l.now, "1")
			}
		}, 29},
		{"one of which a former process says goodbye, late", func(l *listened, at int) {
			l.goodbye("0")
			if at%15 == 0 {
				l.beat(l.now, "1")
			}
		}, 120},
		{"one of which a former process speaks", func(l *listened, _ int) {
			l.beat(l.now, "0")
			l.receipt(l.now, "0")
		}, 44},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := listenTo(t)
			last := -1
			for second := range 121 {
				tt.says(l, second)
				if l.view.roster.agents["thinker"].state(l.judgement()) == schemas.AgentOnline {
					last = second
				}
				l.now = l.now.Add(s)
			}
			if last != tt.last {
				t.Errorf("it is last online after %d s, want %d s", last, tt.last)
			}
		})
	}
}
