package brokertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const instant = 100 * time.Millisecond

func TestASwallowedAckIsOfAStoredMessage(t *testing.T) {
	t.Parallel()
	p, js := proxied(t)
	p.SwallowAcks(1)

	publishUnheard(t, js)
	ack, err := publish(t, js)
	if err != nil || ack.Sequence != 2 {
		t.Errorf("got %+v, %v, want sequence 2", ack, err)
	}
	if p.Swallowed() != 1 {
		t.Errorf("%d swallowed", p.Swallowed())
	}
}

func TestAcksAreSwallowedForEverAndRefusalsPass(t *testing.T) {
	t.Parallel()
	p, js := proxied(t)
	p.SwallowAcks(Always, "KEPT")
	for range 2 {
		publishUnheard(t, js)
	}
	_, err := publish(t, js, jetstream.WithExpectLastSequencePerSubject(0))
	if api := (*jetstream.APIError)(nil); !errors.As(err, &api) {
		t.Errorf("got error %v, want a refusal", err)
	}
	p.SwallowAcks(0)
	if ack, err := publish(t, js); err != nil || ack.Sequence != 3 {
		t.Errorf("got %+v, %v, want sequence 3", ack, err)
	}
}

func TestRefusalsCanBeSwallowedToo(t *testing.T) {
	t.Parallel()
	p, js := proxied(t)
	p.SwallowReplies(1)
	publishUnheard(t, js, jetstream.WithExpectLastSequence(7))
	p.SwallowReplies(1, "ANOTHER")
	if _, err := publish(t, js); err != nil {
		t.Errorf("an answer of another stream is lost: %v", err)
	}
}

func TestACutConnectionComesBackThroughTheProxy(t *testing.T) {
	t.Parallel()
	p, js := proxied(t)
	p.Cut()
	Eventually(t, "a reconnect", func() bool { return js.Conn().Stats().Reconnects == 1 && js.Conn().IsConnected() })
	if got := js.Conn().ConnectedUrl(); got != p.URL() {
		t.Errorf("connected to %s, want %s", got, p.URL())
	}
}

func TestPausedTrafficIsHeldNotLost(t *testing.T) {
	t.Parallel()
	p, js := proxied(t)
	p.Pause()
	p.Pause()
	future, err := js.PublishAsync("kept", nil)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-future.Ok():
		t.Fatal("an acknowledgement passed")
	case <-time.After(instant):
	}
	p.Resume()
	p.Resume()
	select {
	case <-future.Ok():
	case err := <-future.Err():
		t.Fatal(err)
	case <-time.After(patience):
		t.Fatal("no acknowledgement")
	}
	if got := js.Conn().Stats().Reconnects; got != 0 {
		t.Errorf("%d reconnects", got)
	}
}

func TestAPausedProxyEnds(t *testing.T) {
	t.Parallel()
	p, js := proxied(t)
	p.Pause()
	_ = js.Conn().Publish("kept", nil)
}

func TestAProxyToNobodyClosesConnections(t *testing.T) {
	t.Parallel()
	p := Proxy(t, "nats://127.0.0.1:1")
	if _, err := nats.Connect(p.URL()); err == nil {
		t.Error("somebody answers")
	}
}

// proxied is a client behind a proxy, and a stream KEPT.
func proxied(t *testing.T) (*Relay, jetstream.JetStream) {
	t.Helper()
	p := Proxy(t, New(t).URL())
	js := dial(t, p.URL())
	cfg := jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}}
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return p, js
}

func publish(t *testing.T, js jetstream.JetStream, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	t.Helper()
	return publishWithin(t, patience, js, opts...)
}

// publishUnheard expects that no answer comes.
func publishUnheard(t *testing.T, js jetstream.JetStream, opts ...jetstream.PublishOpt) {
	t.Helper()
	_, err := publishWithin(t, instant, js, opts...)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got error %v, want %v", err, context.DeadlineExceeded)
	}
}

func publishWithin(
	t *testing.T, wait time.Duration, js jetstream.JetStream, opts ...jetstream.PublishOpt,
) (*jetstream.PubAck, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	return js.Publish(ctx, "kept", nil, opts...)
}
