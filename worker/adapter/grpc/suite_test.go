package grpc_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/grpc"
	"github.com/agentreach/agent-reach/worker/adapter/grpc/reachpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOurOwnServicePassesTheSuite(t *testing.T) {
	adaptertest.Run(t, adaptertest.Subject{
		Streams: true, Held: 4,
		Start: func(t *testing.T, max int, via adaptertest.Via) adaptertest.Agent {
			server := serve(t, "127.0.0.1:0", obedient, rpc.MaxRecvMsgSize(max))
			address := server.address
			agent := newAgent(t, grpc.Config{Target: via(address), MaxMessage: max})
			return adaptertest.Agent{Handler: agent, Restart: func() {
				again := adaptertest.Again(t, server.listener)
				server.Stop()
				server = serveOn(t, again, obedient)
			}}
		},
	})
}

// server is a gRPC server and where it listens.
type server struct {
	*rpc.Server
	listener net.Listener
	address  string
	conns    sync.Map // by the address of the other side
}

// keeping is a listener that remembers its connections.
type keeping struct {
	net.Listener
	conns *sync.Map
}

func (k *keeping) Accept() (net.Conn, error) {
	conn, err := k.Listener.Accept()
	if err == nil {
		k.conns.Store(conn.RemoteAddr().String(), conn)
	}
	return conn, err
}

// hangUp breaks the connection of a call.
func (s *server) hangUp(ctx context.Context) {
	caller, _ := peer.FromContext(ctx)
	if conn, found := s.conns.Load(caller.Addr.String()); found {
		_ = conn.(net.Conn).Close()
	}
}

// serve runs a server with what register puts on it, at address, until the test ends.
func serve(t *testing.T, address string, register func(*server), options ...rpc.ServerOption) *server {
	t.Helper()
	return serveOn(t, adaptertest.Listen(t, address), register, options...)
}

// serveOn is serve where a listener listens.
func serveOn(t *testing.T, listener net.Listener, register func(*server), options ...rpc.ServerOption) *server {
	t.Helper()
	options = append(options, rpc.WaitForHandlers(true))
	s := &server{Server: rpc.NewServer(options...), listener: listener, address: listener.Addr().String()}
	register(s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(&keeping{Listener: listener, conns: &s.conns})
	}()
	t.Cleanup(func() {
		s.Stop()
		<-ended
	})
	return s
}

// newAgent is the adapter, with short timers where cfg has none.
func newAgent(t *testing.T, cfg grpc.Config) *grpc.Agent {
	t.Helper()
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = time.Second
	}
	agent, err := grpc.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	return agent
}

func obedient(s *server) { reachpb.RegisterAgentServer(s, &obeying{server: s}) }

// obeying is the agent of the suite behind our own service.
type obeying struct {
	reachpb.UnimplementedAgentServer
	server *server
}

// Run does one order.
func (o *obeying) Run(task *reachpb.Task, to reachpb.Agent_RunServer) error {
	return adaptertest.Obey(to.Context(), task.GetTaskId(), []byte(task.GetPayload()), &voice{to, o.server})
}

type voice struct {
	to     reachpb.Agent_RunServer
	server *server
}

func (v *voice) say(said *reachpb.Said) { _ = v.to.Send(said) }

func (v *voice) Result(value []byte) {
	v.say(&reachpb.Said{What: &reachpb.Said_Result{Result: string(value)}})
}

func (v *voice) Error(code, message string, details []byte) {
	v.say(&reachpb.Said{What: &reachpb.Said_Error{
		Error: &reachpb.Error{Code: code, Message: message, Details: string(details)},
	}})
}

func (v *voice) Chunk(value []byte) {
	v.say(&reachpb.Said{What: &reachpb.Said_Chunk{Chunk: string(value)}})
}

func (v *voice) Progress(fraction float64, message string) {
	v.say(&reachpb.Said{What: &reachpb.Said_Progress{Progress: &reachpb.Progress{Fraction: &fraction, Message: message}}})
}

func (v *voice) Garbage(text string) { v.Result([]byte(text)) }

func (v *voice) Break() {
	v.server.hangUp(v.to.Context())
	<-v.to.Context().Done()
}
