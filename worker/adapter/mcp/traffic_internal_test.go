package mcp

import (
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A server that is told of nothing keeps no memory of every call that was ever left, and the end of a session waits for the others.
func TestCancelsThatTheEndOfASessionWaitsForAreBounded(t *testing.T) {
	t.Parallel()
	s := newTraffic()
	left := 0
	leave := func() {
		id, err := jsonrpc.MakeID(float64(left))
		if err != nil {
			t.Fatal(err)
		}
		c := &call{token: fmt.Sprint(left), over: make(chan struct{})}
		s.add(id, c)
		s.leave(c)
		left++
	}
	tell := func(id int) { s.told(fmt.Appendf(nil, `{"requestId":%d}`, id)) }
	for range mostUntold + 500 {
		leave()
	}
	if len(s.untold) != mostUntold || len(s.byID)+len(s.byToken) != 0 {
		t.Errorf("%d cancels are waited for, want %d; %d calls are not forgotten", len(s.untold), mostUntold, len(s.byID))
	}
	tell(mostUntold + 1) // beyond the bound: nobody waits for it
	tell(0)
	leave()
	leave()
	if len(s.untold) != mostUntold {
		t.Errorf("%d cancels are waited for after one was told, want %d", len(s.untold), mostUntold)
	}
	for id := range left {
		tell(id)
	}
	s.tellAll(time.Hour)
	if len(s.untold) != 0 {
		t.Errorf("%d cancels are waited for when all are told", len(s.untold))
	}
}
