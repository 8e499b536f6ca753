package mcp

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
	"github.com/agentreach/agent-reach/worker/adapter/internal/httpcall"
	"github.com/agentreach/agent-reach/worker/adapter/internal/keeper"
)

// session is one session with the server.
type session struct {
	client  *sdk.ClientSession
	traffic *traffic
	parting func() string // what a program said at its end; nil without one

	over     chan struct{} // closed when the session has ended
	answered atomic.Bool   // it has ended a call
}

// legacy is the protocol that is tried first: all servers of today know it, and its cancel reaches them on every transport.
const legacy = "2025-11-25"

// dial makes a session.
func (a *Agent) dial(ctx context.Context) (*session, *worker.Failure) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.ConnectTimeout)
	defer cancel()
	versions := []string{legacy, ""}
	if a.cfg.ProtocolVersion != "" {
		versions = []string{a.cfg.ProtocolVersion}
	}
	var err error
	for _, version := range versions {
		var s *session
		if s, err = a.server.connect(withVersion(ctx, version), newTraffic()); err == nil {
			return s, nil
		}
		if !anotherVersion(err) {
			break
		}
	}
	var parting *partingError
	program := errors.As(err, &parting)
	failure := a.notConnected(ctx, err)
	if program && parting.words != "" {
		failure.Err.With("stderr", parting.words)
	}
	return nil, failure
}

// anotherVersion reports whether err is the server's own word on a greeting, and not that of the network.
func anotherVersion(err error) bool {
	var refused *jsonrpc.Error
	var network *url.Error
	return errors.As(err, &refused) && !errors.As(err, &network)
}

// notConnected is the failure of a greeting. No task was sent.
func (a *Agent) notConnected(ctx context.Context, err error) *worker.Failure {
	var status *statusError
	var start *startError
	var parting *partingError
	switch {
	case errors.As(err, &status):
		failure := status.reply.Refused(nil)
		failure.Ran = schemas.RanNo
		return failure
	case errors.As(err, &start):
		return answer.Unreached("the agent's program cannot be started: %s", start.why())
	case ctx.Err() != nil:
		return answer.Unreached("the server did not greet within %s: is it an MCP server %s?", a.cfg.ConnectTimeout, a.cfg.where())
	case errors.As(err, &parting) && !anotherVersion(err):
		return answer.Unreached("the agent's program %s", parting.why())
	}
	return answer.Unreached("no session with %s: %s", a.server, httpcall.Reason(err))
}

// greet makes a session over a transport. The client offers the server nothing: it could only ask a person.
func greet(ctx context.Context, over sdk.Transport, t *traffic) (*session, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "agent-reach", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	})
	made, err := client.Connect(ctx, t.over(over), &sdk.ClientSessionOptions{ProtocolVersion: versionOf(ctx)})
	if err != nil {
		return nil, err
	}
	return &session{client: made, traffic: t, over: make(chan struct{})}, nil
}

type versionKey struct{}

func withVersion(ctx context.Context, version string) context.Context {
	return context.WithValue(ctx, versionKey{}, version)
}

func versionOf(ctx context.Context) string {
	version, _ := ctx.Value(versionKey{}).(string)
	return version
}

// Run waits for the end of the session.
func (s *session) Run() keeper.Loss {
	_ = s.client.Wait()
	_ = s.client.Close()
	return keeper.Loss{Worked: s.answered.Load()}
}

// Lost tells the calls.
func (s *session) Lost() { close(s.over) }

// tellFor is how long the end of a session waits for its cancels to go out.
const tellFor = time.Second

// HangUp ends the session, once the server knows of every call that was cancelled.
func (s *session) HangUp() {
	s.traffic.tellAll(tellFor)
	_ = s.client.Close()
}

// partingFor bounds the wait for the end of a program whose stdout has ended.
const partingFor = 5 * time.Second

// part waits until a program has said its last words: its stdout may be heard to end before the rest of its stderr is.
func (s *session) part(ctx context.Context) {
	if s.parting == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, partingFor)
	defer cancel()
	select {
	case <-s.over:
	case <-ctx.Done():
	}
}

// words is what a program said at its end, for the failure of a call.
func (s *session) words(e *schemas.Error) *schemas.Error {
	answer.FromAgent(e)
	if s.parting == nil {
		return e
	}
	if words := s.parting(); words != "" {
		e.With("stderr", words)
	}
	return e
}
