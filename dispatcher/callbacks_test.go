package dispatcher_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/google/go-cmp/cmp"

	"github.com/agentreach/agent-reach/broker/brokertest"
	"github.com/agentreach/agent-reach/dispatcher"
	"github.com/agentreach/agent-reach/dispatcher/callback"
	"github.com/agentreach/agent-reach/dispatcher/webhook"
	"github.com/agentreach/agent-reach/schemas"
)

const callbackSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// calling is a quick configuration that calls receivers of this machine.
func calling(t testing.TB, change ...func(*webhook.Config)) dispatcher.Config {
	t.Helper()
	secrets, err := webhook.ParseSecrets(callbackSecret)
	check(t, err)
	sending := webhook.Config{
		Secrets: secrets, Timeout: patience,
		Addresses: webhook.Addresses{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
	for _, one := range change {
		one(&sending)
	}
	sender := webhook.New(sending)
	t.Cleanup(sender.Close)
	cfg := quick()
	cfg.Callbacks = dispatcher.CallbackConfig{Sender: sender, Attempts: 4, BackoffBase: 30 * time.Millisecond, BackoffCap: 100 * time.Millisecond}
	return cfg
}

// receiver is what a caller named as its callback. It answers as it is told to.
type receiver struct {
	url string

	mu     sync.Mutex
	calls  []call
	answer func(n int, w http.ResponseWriter)
}

// call is one message that arrived.
type call struct {
	id   string
	body string
	at   time.Time
	err  error // of its signature
}

func newReceiver(t testing.TB, answer func(n int, w http.ResponseWriter)) *receiver {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(callbackSecret)
	check(t, err)
	r := &receiver{answer: answer}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mu.Lock()
		r.calls = append(r.calls, call{
			id: request.Header.Get("webhook-id"), body: string(body), at: time.Now(), err: verifier.Verify(body, request.Header),
		})
		n := len(r.calls)
		r.mu.Unlock()
		if r.answer != nil {
			r.answer(n, w)
		}
	}))
	t.Cleanup(server.Close)
	r.url = server.URL + "/hook"
	return r
}

func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// calledBack is an echo that calls back.
func calledBack(url string) schemas.ReachMessage {
	m := echo(`{"n":18446744073709551615,"x":1e2}`)
	m.Callback = url
	return m
}

// until waits until a task's callback stands as wanted.
func (h *house) until(taskID string, state schemas.CallbackState) *schemas.Task {
	h.t.Helper()
	var task *schemas.Task
	brokertest.Eventually(h.t, "the callback is "+string(state), func() bool {
		task = h.task(taskID)
		return task.Callback != nil && task.Callback.State == state
	})
	return task
}

func TestACallerIsCalledBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, calling(t))
	w := newScripted(h, "parrot", offer{"echo", 4})
	r := newReceiver(t, nil)
	task := h.submit(calledBack(r.url))
	if want := (&schemas.Callback{State: schemas.CallbackWaiting, URL: r.url}); cmp.Diff(want, task.Callback) != "" {
		t.Errorf("while it runs: %+v", task.Callback)
	}
	w.complete(w.next())
	ended := h.wait(task.TaskID)
	told := h.until(task.TaskID, schemas.CallbackDelivered)
	calls := r.got()
	if len(calls) != 1 || calls[0].err != nil || calls[0].id != task.TaskID {
		t.Fatalf("%+v", calls)
	}
	var as schemas.Task
	check(t, schemas.Decode([]byte(calls[0].body), &as))
	ended.Callback, ended.Revision = nil, as.Revision // that grows when it is noted that it was told
	if diff := cmp.Diff(string(schemas.MustEncode(ended)), calls[0].body); diff != "" {
		t.Errorf("it is told another task than its readers see (-want +got)\n%s", diff)
	}
	if c := told.Callback; c.Attempts != 1 || c.Status != 200 || c.DeliveredAt.IsZero() || c.Error != nil || told.State != schemas.StateCompleted {
		t.Errorf("%+v", told.Callback)
	}
	trace, err := h.any().Trace(t.Context(), schemas.DefaultTenant, task.TaskID)
	check(t, err)
	if !slices.ContainsFunc(trace.Hops, func(hop schemas.Hop) bool { return hop.Hop == schemas.HopCallback }) {
		t.Errorf("the trace does not show it: %+v", trace.Hops)
	}
}

// Each way to end is told, by the same id and with what a reader sees.
func TestEveryEndIsTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t, calling(t))
	w := newScripted(h, "parrot", offer{"echo", 8}, offer{"test_run", 8})
	r := newReceiver(t, nil)
	ends := map[string]func(task *schemas.Task, a assignment){
		"completed": func(_ *schemas.Task, a assignment) { w.complete(a) },
		"failed": func(_ *schemas.Task, a assignment) {
			w.fail(a, schemas.RanYes, schemas.NewError(schemas.InvalidArgument, "", "no"))
		},
		"canceled": func(task *schemas.Task, _ assignment) {
			_, err := h.any().Cancel(t.Context(), schemas.DefaultTenant, task.TaskID)
			check(t, err)
		},
		"rejected": func(_ *schemas.Task, a assignment) {
			result := w.result(a, schemas.StateRejected)
			result.Error = schemas.NewError(schemas.InvalidArgument, "", "not me")
			w.finish(result)
		},
	}
	want := make(map[string]string)
	for state, end := range ends {
		task := h.submit(calledBack(r.url))
		end(task, w.next())
		want[task.TaskID] = state
	}
	want[h.brief(calledBack(r.url), time.Second).TaskID] = "failed"
	got := make(map[string]string)
	brokertest.Eventually(t, "all are told", func() bool {
		for _, c := range r.got() {
			var task schemas.Task
			check(t, schemas.Decode([]byte(c.body), &task))
			got[c.id] = string(task.State)
		}
		return len(got) == len(want)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAReceiverThatIsDownIsCalledAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, calling(t))
	w := newScripted(h, "parrot", offer{"echo", 4})
	r := newReceiver(t, func(n int, w http.ResponseWriter) {
		if n < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	task := h.submit(calledBack(r.url))
	w.complete(w.next())
	told := h.until(task.TaskID, schemas.CallbackDelivered)
	calls := r.got()
	if told.Callback.Attempts != 3 || len(calls) != 3 {
		t.Fatalf("%+v after %d calls", told.Callback, len(calls))
	}
	for _, c := range calls[1:] {
		if c.id != calls[0].id || c.body != calls[0].body || c.err != nil {
			t.Errorf("an attempt differs from the first: %+v\n%+v", c, calls[0])
		}
	}
}

func TestACallbackThatFailsForGoodIsKeptAndMadeAgainByHand(t *testing.T) {
	t.Parallel()
	h := newHouse(t, calling(t))
	w := newScripted(h, "parrot", offer{"echo", 4})
	var up atomic.Bool
	looked := make(chan struct{})
	r := newReceiver(t, func(_ int, w http.ResponseWriter) {
		<-looked
		if !up.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	look := sync.OnceFunc(func() { close(looked) })
	t.Cleanup(look)
	task := h.submit(calledBack(r.url))
	w.complete(w.next())
	before := h.wait(task.TaskID)
	look()
	failed := h.until(task.TaskID, schemas.CallbackFailed)
	if c := failed.Callback; c.Attempts != 4 || c.Status != 500 || c.Error.Reason != webhook.ReasonBadStatus || len(r.got()) != 4 {
		t.Errorf("%+v after %d calls", failed.Callback, len(r.got()))
	}
	if failed.State != schemas.StateCompleted || failed.DeadLetter || !failed.KeptUntil.After(before.KeptUntil.Time) {
		t.Errorf("%+v", failed)
	}
	for state, want := range map[schemas.CallbackState]int{schemas.CallbackFailed: 1, schemas.CallbackWaiting: 0, schemas.CallbackDelivered: 0} {
		brokertest.Eventually(t, fmt.Sprintf("%s: %d listed", state, want), func() bool {
			page, err := h.any().ListTasks(t.Context(), schemas.DefaultTenant, schemas.TaskQuery{Callback: state})
			return err == nil && len(page.Items) == want
		})
	}
	up.Store(true)
	again, err := h.any().Redeliver(t.Context(), schemas.DefaultTenant, task.TaskID)
	if check(t, err); again.Callback.State != schemas.CallbackWaiting {
		t.Errorf("%+v", again.Callback)
	}
	if c := h.until(task.TaskID, schemas.CallbackDelivered).Callback; c.Attempts != 1 {
		t.Errorf("%+v", c)
	}
	if calls := r.got(); calls[4].id != calls[0].id {
		t.Errorf("the id is another: %v", calls)
	}
	_, err = h.any().Redeliver(t.Context(), "other", task.TaskID)
	wantCode(t, err, schemas.NotFound, "")
	plain := h.submit(echo("1"))
	_, err = h.any().Redeliver(t.Context(), schemas.DefaultTenant, plain.TaskID)
	wantCode(t, err, schemas.FailedPrecondition, "NOT_ENDED")
	w.complete(w.next())
	h.wait(plain.TaskID)
	_, err = h.any().Redeliver(t.Context(), schemas.DefaultTenant, plain.TaskID)
	wantCode(t, err, schemas.FailedPrecondition, "NO_CALLBACK")
}

// A dispatcher that stops in the middle of a call, or before it, leaves it to the others; and one that starts finds what is owed.
func TestCallbacksOutliveTheirDispatcher(t *testing.T) {
	t.Parallel()
	h := newHouse(t, calling(t), calling(t))
	w := newScripted(h, "parrot", offer{"echo", 64})
	hang := make(chan struct{})
	r := newReceiver(t, func(n int, _ http.ResponseWriter) {
		if n == 1 {
			<-hang
		}
	})
	t.Cleanup(func() { close(hang) })
	const tasks = 20
	for range tasks {
		h.submit(calledBack(r.url))
	}
	for range tasks {
		w.complete(w.next())
	}
	brokertest.Eventually(t, "a call is under way", func() bool { return len(r.got()) > 0 })
	h.dispatchers[0].stop()
	h.dispatchers[1].stop()
	h.dispatchers = nil
	h.start(calling(t))
	brokertest.Eventually(t, "everybody is told", func() bool { return len(told(r)) == tasks })
}

// told are the tasks that a receiver was told of.
func told(r *receiver) map[string]bool {
	ids := make(map[string]bool)
	for _, c := range r.got() {
		ids[c.id] = true
	}
	return ids
}

func TestCallbacksThatCanNeverBeMadeAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, calling(t))
	submit := func(url string) error {
		m := calledBack(url)
		_, err := h.any().Submit(t.Context(), schemas.DefaultTenant, &m)
		return err
	}
	for _, url := range []string{"http://10.0.0.1/", "http://[::ffff:169.254.169.254]/latest"} {
		wantCode(t, submit(url), schemas.PermissionDenied, webhook.ReasonAddress)
	}
	off := newHouse(t)
	m := calledBack("https://example.org/")
	_, err := off.any().Submit(t.Context(), schemas.DefaultTenant, &m)
	wantCode(t, err, schemas.FailedPrecondition, "CALLBACKS_OFF")
}

// TestOneReceiverThatHangsDelaysNobody: 200 tasks each call back to one that never answers, to one that answers a byte a second, and
// to one that is fine. What the last one sees is logged, not judged.
func TestOneReceiverThatHangsDelaysNobody(t *testing.T) {
	t.Parallel()
	const each, perReceiver, timeout = 200, 4, time.Second
	began := time.Now()
	cfg := calling(t, func(c *webhook.Config) { c.Timeout = timeout })
	cfg.Callbacks.Limits = callback.Limits{Total: 32, PerReceiver: perReceiver}
	cfg.Callbacks.BackoffBase, cfg.Callbacks.BackoffCap = time.Second, 10*time.Second
	h := newHouse(t, cfg)
	w := newScripted(h, "parrot", offer{"echo", 3 * each})
	over := make(chan struct{})
	silent := newReceiver(t, func(int, http.ResponseWriter) { <-over })
	slow := newReceiver(t, func(_ int, w http.ResponseWriter) { dribble(w, over) })
	fine := newReceiver(t, nil)
	t.Cleanup(func() { // before the receivers are closed
		close(over)
		h.any().stop()
	})

	ended := make(map[string]time.Time)
	for range each {
		for _, r := range []*receiver{silent, slow, fine} {
			h.submit(calledBack(r.url))
		}
	}
	for range 3 * each {
		a := w.next()
		ended[a.message.TaskID] = time.Now()
		w.complete(a)
	}
	brokertest.Eventually(t, "the one that is fine is told of everything", func() bool { return len(told(fine)) == each })
	var delays []time.Duration
	for _, c := range fine.got() {
		delays = append(delays, c.at.Sub(ended[c.id]))
	}
	slices.Sort(delays)
	t.Logf("fine: %d calls for %d tasks, median %v, p99 %v; silent: %d calls; slow: %d calls",
		len(delays), each, delays[len(delays)/2], delays[len(delays)*99/100], len(silent.got()), len(slow.got()))
	if n, most := len(silent.got()), perReceiver*(1+int(time.Since(began)/timeout)); n > most {
		t.Errorf("the silent one has %d calls, and %d at a time can be no more than %d by now: no limit holds", n, perReceiver, most)
	}
}

// dribble answers a byte at a time, and never to the end.
func dribble(w http.ResponseWriter, over <-chan struct{}) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = connection.Close() }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for _, letter := range "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if _, err := fmt.Fprint(connection, string(letter)); err != nil {
			return
		}
	}
}

// What is said of a callback in the ledger is what its readers see, in the form of the wire.
func TestTheCallbackOfATaskIsOnTheWire(t *testing.T) {
	t.Parallel()
	h := newHouse(t, calling(t))
	w := newScripted(h, "parrot", offer{"echo", 4})
	r := newReceiver(t, func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusGone) })
	task := h.submit(calledBack(r.url))
	w.complete(w.next())
	failed := h.until(task.TaskID, schemas.CallbackFailed)
	var wire struct {
		Callback struct {
			State    string `json:"state"`
			URL      string `json:"url"`
			Attempts int    `json:"attempts"`
			Status   int    `json:"status"`
			Error    struct {
				Reason string `json:"reason"`
			} `json:"error"`
		} `json:"callback"`
	}
	check(t, json.Unmarshal(schemas.MustEncode(failed), &wire))
	if c := wire.Callback; c.State != "failed" || c.URL != r.url || c.Attempts != 1 || c.Status != 410 || c.Error.Reason != webhook.ReasonGone {
		t.Errorf("%+v", c)
	}
}
