package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/schemas"
)

const finisher = "laptop-1"

func finishes(c *broker.Conn) *broker.Bundler {
	return c.Bundler(broker.SubjectFinish(finisher), broker.SubjectFinishes(finisher))
}

// echoing answers each request with its agent and body; "bad" with an error, "silent" not at all, "large" with 300 KB.
func echoing(t *testing.T, c *broker.Conn, options ...broker.ServeOption) {
	t.Helper()
	serve(t, c, broker.SubjectFinish(broker.Any), func(_ context.Context, r *broker.Request) {
		switch word, _, _ := strings.Cut(string(r.Data), " "); word {
		case "bad":
			r.Fail(schemas.NewError(schemas.NotFound, schemas.ReasonUnknownTask, "%s", r.Data))
		case "silent":
		case "large":
			r.Reply([]byte(strings.Repeat("x", 300<<10)))
		default:
			r.Reply(fmt.Appendf(nil, "%s %s", r.Agent, r.Data))
		}
	}, options...)
}

// ask sends requests at once, and returns what each is told, in their order.
func ask(t *testing.T, b *broker.Bundler, within time.Duration, bodies []string) []string {
	t.Helper()
	return askEach(t, b, func(string) time.Duration { return within }, bodies)
}

// askEach asks each within its own time.
func askEach(t *testing.T, b *broker.Bundler, within func(body string) time.Duration, bodies []string) []string {
	t.Helper()
	told := make([]string, len(bodies))
	var all sync.WaitGroup
	for i, body := range bodies {
		all.Go(func() {
			answer, err := b.RequestWithin(t.Context(), within(body), []byte(body))
			told[i] = string(answer)
			var refused *schemas.Error
			switch {
			case errors.As(err, &refused):
				told[i] = string(refused.Code) + " " + refused.Message
			case err != nil:
				told[i] = err.Error()
			}
		})
	}
	all.Wait()
	return told
}

// count counts the messages on a subject.
func count(t *testing.T, b *brokertest.Broker, subject string) *atomic.Int64 {
	t.Helper()
	var n atomic.Int64
	if _, err := b.Conn(t).Subscribe(subject, func(string, []byte) { n.Add(1) }); err != nil {
		t.Fatal(err)
	}
	return &n
}

func numbered(n int) (bodies, answers []string) {
	for i := range n {
		bodies = append(bodies, fmt.Sprint("result ", i))
		answers = append(answers, fmt.Sprint("laptop-1 result ", i))
	}
	return bodies, answers
}

func TestRequestsThatComeTogetherGoTogether(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	echoing(t, b.Conn(t), broker.Bundled(broker.SubjectFinishes(broker.Any)))
	alone, together := count(t, b, broker.SubjectFinish(finisher)), count(t, b, broker.SubjectFinishes(finisher))
	bodies, want := numbered(1000)
	if diff := cmp.Diff(want, ask(t, finishes(b.Conn(t)), time.Minute, bodies)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	brokertest.Eventually(t, "a bundle", func() bool { return together.Load() > 0 }) // the counter hears later than the caller
	if alone, together := alone.Load(), together.Load(); alone+together > 500 {
		t.Errorf("1000 requests went in %d messages alone and in %d together", alone, together)
	}
}

func TestARequestThatComesAloneGoesAlone(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	echoing(t, b.Conn(t), broker.Bundled(broker.SubjectFinishes(broker.Any)))
	alone := count(t, b, broker.SubjectFinish(finisher))
	finishes := finishes(b.Conn(t))
	for range 5 {
		ask(t, finishes, time.Minute, []string{"result"})
	}
	brokertest.Eventually(t, "all five alone", func() bool { return alone.Load() == 5 }) // the counter hears later than the caller
}

// TestEachOfABundleHasItsOwnEnd: an error, a silence and an answer that fills a message are those of one request, and not of the others.
func TestEachOfABundleHasItsOwnEnd(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	echoing(t, b.Conn(t), broker.Bundled(broker.SubjectFinishes(broker.Any)))
	var bodies, want []string
	for i := range 60 {
		switch i % 4 {
		case 0:
			bodies, want = append(bodies, fmt.Sprint("bad ", i)), append(want, fmt.Sprint("NOT_FOUND bad ", i))
		case 1:
			bodies = append(bodies, fmt.Sprint("silent ", i))
			want = append(want, "request reach.finish.laptop-1: context deadline exceeded")
		case 2:
			bodies, want = append(bodies, "large"), append(want, strings.Repeat("x", 300<<10))
		default:
			bodies, want = append(bodies, fmt.Sprint(i)), append(want, fmt.Sprint("laptop-1 ", i))
		}
	}
	within := func(body string) time.Duration {
		if strings.HasPrefix(body, "silent") {
			return 500 * time.Millisecond
		}
		return time.Minute
	}
	if diff := cmp.Diff(want, askEach(t, finishes(b.Conn(t)), within, bodies)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestOneThatTakesLongDelaysNoOther(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	release := make(chan struct{})
	serve(t, b.Conn(t), broker.SubjectFinish(broker.Any), func(_ context.Context, r *broker.Request) {
		if strings.HasPrefix(string(r.Data), "slow") {
			<-release
		}
		r.Reply(r.Data)
	}, broker.Bundled(broker.SubjectFinishes(broker.Any)))
	finishes := finishes(b.Conn(t))
	var slow sync.WaitGroup
	for i := range 10 {
		slow.Go(func() { ask(t, finishes, time.Minute, []string{fmt.Sprint("slow ", i)}) })
	}
	for i := range 20 {
		bodies := []string{fmt.Sprint("a ", i), fmt.Sprint("b ", i)}
		if diff := cmp.Diff(bodies, ask(t, finishes, time.Minute, bodies)); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	}
	close(release)
	slow.Wait()
}

// TestWhereNobodyTakesBundles: dispatchers of an earlier release serve the single form alone, and so does one of two in an upgrade.
func TestWhereNobodyTakesBundles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		servers [][]broker.ServeOption
	}{
		{"an earlier release", [][]broker.ServeOption{nil}},
		{"one of two releases", [][]broker.ServeOption{nil, {broker.Bundled(broker.SubjectFinishes(broker.Any))}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.New(t)
			for _, options := range tt.servers {
				echoing(t, b.Conn(t), options...)
			}
			finishes := finishes(b.Conn(t))
			bodies, want := numbered(200)
			for range 2 {
				if diff := cmp.Diff(want, ask(t, finishes, time.Minute, bodies)); diff != "" {
					t.Errorf("answers (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestABundleThatNobodyHears(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	bodies, _ := numbered(10)
	for i, told := range ask(t, finishes(b.Conn(t)), time.Minute, bodies) {
		if told != "request reach.finish.laptop-1: "+broker.ErrNoResponders.Error() {
			t.Errorf("request %d was told %q", i, told)
		}
	}
}

// TestABundleThatIsNotAllowed: where a broker drops bundles without a word, requests are repeated alone.
func TestABundleThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	echoing(t, b.Conn(t))
	dropped := count(t, b, broker.SubjectFinishes(finisher))
	finishes := finishes(b.Conn(t))
	bodies, want := numbered(20)
	brokertest.Eventually(t, "requests that are lost in a bundle", func() bool {
		ask(t, finishes, 200*time.Millisecond, bodies)
		return dropped.Load() > 0
	})
	if diff := cmp.Diff(want, ask(t, finishes, time.Minute, bodies)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestBundlesEndWithTheConnection(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	proxy := brokertest.Proxy(t, b.URL()) // a broker that stops may first close the connection of those who serve
	serve(t, b.Conn(t), broker.SubjectFinish(broker.Any), func(context.Context, *broker.Request) {
		proxy.Pause() // and no other takes its place
		proxy.Cut()
	}, broker.Bundled(broker.SubjectFinishes(broker.Any)))
	asker := b.Connect(t, func(cfg *broker.Config) { cfg.URL = proxy.URL() })
	bodies, _ := numbered(20)
	for i, told := range ask(t, finishes(asker), time.Minute, bodies) {
		if !strings.HasSuffix(told, broker.ErrDisconnected.Error()) {
			t.Errorf("request %d was told %q", i, told)
		}
	}
}

func TestStrangeBundles(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	echoing(t, b.Conn(t), broker.Bundled(broker.SubjectFinishes(broker.Any)))
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	const refused = `Reach-Bundle=[] Nats-Service-Error-Code=[INVALID_ARGUMENT]`
	for _, tt := range []struct{ name, sizes, body, want string }{
		{"one", "3", "abc", "Reach-Bundle=[0:12] Nats-Service-Error-Code=[]"},
		{"an empty one", "0", "", "Reach-Bundle=[0:9] Nats-Service-Error-Code=[]"},
		{"no sizes", "", "abc", refused},
		{"too few bytes", "3,3", "abc", refused},
		{"too many bytes", "1,1", "abc", refused},
		{"a size below zero", "-1,4", "abc", refused},
		{"no number", "x", "abc", refused},
		{"more than a number holds", "99999999999999999999", "abc", refused},
		{"too many", strings.Repeat("0,", 200) + "3", "abc", refused},
	} {
		m := &nats.Msg{Subject: broker.SubjectFinishes(finisher), Data: []byte(tt.body), Header: nats.Header{"Reach-Bundle": {tt.sizes}}}
		answer, err := nc.RequestMsg(m, 10*time.Second)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := fmt.Sprintf("Reach-Bundle=%v Nats-Service-Error-Code=%v", answer.Header["Reach-Bundle"], answer.Header["Nats-Service-Error-Code"])
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
