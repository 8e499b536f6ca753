package broker

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

func TestWhoIsOut(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	type look struct {
		at        time.Duration // after the last beat of the other
		connected bool
	}
	const second = time.Second
	tests := []struct {
		name  string
		looks []look
		out   bool
	}{
		{"one that is silent for as long as it may", []look{{second, true}, {2 * second, true}, {3 * second, true}}, false},
		{"one that is silent for longer", []look{{second, true}, {2 * second, true}, {3 * second, true}, {3*second + 1, true}}, true},
		{"one that could not be heard", []look{{second, true}, {2 * second, true}, {3 * second, false}, {4 * second, true}}, false},
		{"nor since", []look{{second, true}, {2 * second, false}, {3 * second, true}, {4 * second, true}, {5*second + 1, true}}, true},
		{"one of whom nobody looked whether it is heard", []look{{second, true}, {20 * second, true}}, false},
		{"nor then", []look{{second, true}, {20 * second, true}, {21 * second, true}}, true},
		{"one that is gone, for one who is always late", []look{{second, true}, {11 * second, true}, {21 * second, true}}, true},
	}
	for _, tt := range tests {
		p := &Presence{beat: second, ttl: 3 * second, heard: map[string]time.Time{"b": start}, judged: start}
		for _, look := range tt.looks {
			p.expire(start.Add(look.at), look.connected)
		}
		if _, there := p.heard["b"]; there == tt.out {
			t.Errorf("%s: out is %v, want %v", tt.name, !there, tt.out)
		}
	}
}

func TestABeatIsNeverOfTheFuture(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	p := &Presence{beat: time.Second, ttl: 3 * time.Second, heard: map[string]time.Time{"b": start.Add(19 * time.Second)}, judged: start}
	p.expire(start.Add(20*time.Second), true)
	if got := p.heard["b"]; got.After(start.Add(20 * time.Second)) {
		t.Errorf("it counts as heard at %v", got)
	}
}

// TestWhatIsToldLastIsTheLatest: a peer comes while somebody who has just asked is being told who is there.
func TestWhatIsToldLastIsTheLatest(t *testing.T) {
	t.Parallel()
	p := &Presence{id: "a", beat: time.Second, ttl: time.Hour, conn: &Conn{nc: new(nats.Conn)}, peers: []string{"a"}, heard: make(map[string]time.Time)}
	var told [][]string
	var judged sync.WaitGroup
	p.OnChange(func(peers []string) {
		if len(peers) == 1 {
			p.mu.Lock()
			p.heard["b"] = time.Now()
			p.mu.Unlock()
			judged.Go(func() { p.judge(time.Now()) })
			time.Sleep(20 * time.Millisecond) // whoever could overtake does
		}
		told = append(told, peers)
	})
	judged.Wait()
	if diff := cmp.Diff([][]string{{"a"}, {"a", "b"}}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
