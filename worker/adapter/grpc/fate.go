package grpc

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// fate is what is known of one call on its way: whether it was handed to a connection, and whether the server ended it.
type fate struct{ sent, answered atomic.Bool }

type fateKey struct{}

func withFate(ctx context.Context, f *fate) context.Context {
	return context.WithValue(ctx, fateKey{}, f)
}

// watcher notes the fate of each call.
type watcher struct{}

// TagRPC leaves the context as it is.
func (watcher) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC hears of each step of a call.
func (watcher) HandleRPC(ctx context.Context, step stats.RPCStats) {
	f, ok := ctx.Value(fateKey{}).(*fate)
	if !ok {
		return
	}
	switch step.(type) {
	case *stats.OutHeader:
		f.sent.Store(true)
	case *stats.InTrailer:
		f.answered.Store(true)
	}
}

// TagConn leaves the context as it is.
func (watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn hears nothing of use.
func (watcher) HandleConn(context.Context, stats.ConnStats) {}
