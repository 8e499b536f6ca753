package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/adaptertest"
	"github.com/agentreach/agent-reach/worker/adapter/grpc"
)

const (
	service = "things.v1.Things"
	setPath = "testdata/things.binpb"
)

// files are what things.proto declares.
func files(t *testing.T) *protoregistry.Files {
	t.Helper()
	raw, err := os.ReadFile(setPath)
	if err != nil {
		t.Fatal(err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(raw, set); err != nil {
		t.Fatal(err)
	}
	found, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// things is the server of things.proto, which knows its messages by descriptors alone.
type things struct {
	files  *protoregistry.Files
	server *server
	asked  chan metadata.MD // of each call
}

func (s *things) message(name string) *dynamicpb.Message {
	found, err := s.files.FindDescriptorByName(protoreflect.FullName("things.v1." + name))
	if err != nil {
		panic(err)
	}
	return dynamicpb.NewMessage(found.(protoreflect.MessageDescriptor))
}

func field(m *dynamicpb.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

type unary func(ctx context.Context, in *dynamicpb.Message) (*dynamicpb.Message, error)

func (s *things) method(name, input string, do unary) rpc.MethodDesc {
	return rpc.MethodDesc{
		MethodName: name,
		Handler: func(_ any, ctx context.Context, decode func(any) error, _ rpc.UnaryServerInterceptor) (any, error) {
			in := s.message(input)
			if err := decode(in); err != nil {
				return nil, err
			}
			md, _ := metadata.FromIncomingContext(ctx)
			s.asked <- md
			return do(ctx, in)
		},
	}
}

// register puts the service on a server, with reflection where that is wanted.
func (s *things) register(reflected bool) func(*server) {
	return func(on *server) {
		s.server = on
		on.RegisterService(&rpc.ServiceDesc{
			ServiceName: service, HandlerType: (*any)(nil), Metadata: "things.proto",
			Methods: []rpc.MethodDesc{
				s.method("Echo", "Thing", func(_ context.Context, in *dynamicpb.Message) (*dynamicpb.Message, error) { return in, nil }),
				s.method("Fail", "Failure", s.fail),
				s.method("Wait", "Thing", s.wait),
			},
			Streams: []rpc.StreamDesc{{StreamName: "Count", ServerStreams: true, Handler: s.count}},
		}, s)
		if reflected {
			reflectionpb.RegisterServerReflectionServer(on, reflection.NewServerV1(reflection.ServerOptions{
				Services: on, DescriptorResolver: s.files,
			}))
		}
	}
}

// fail answers with the status that the request asks for.
func (s *things) fail(_ context.Context, in *dynamicpb.Message) (*dynamicpb.Message, error) {
	state := status.New(codes.Code(field(in, "code").Int()), field(in, "message").String())
	var details []protoadapt.MessageV1
	if reason := field(in, "reason").String(); reason != "" {
		info := &errdetails.ErrorInfo{Reason: reason, Metadata: map[string]string{"field": "text", "n": "[1]"}}
		details = append(details, protoadapt.MessageV1Of(info))
	}
	if after := field(in, "retry_after_ms").Int(); after > 0 {
		info := &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(after) * time.Millisecond)}
		details = append(details, protoadapt.MessageV1Of(info))
	}
	if len(details) > 0 {
		state, _ = state.WithDetails(details...)
	}
	return nil, state.Err()
}

// wait waits to be cancelled, and breaks the connection for a text.
func (s *things) wait(ctx context.Context, in *dynamicpb.Message) (*dynamicpb.Message, error) {
	if field(in, "text").String() == "break" {
		s.server.hangUp(ctx)
	}
	<-ctx.Done()
	s.asked <- nil
	return nil, ctx.Err()
}

// count sends things with numbers.
func (s *things) count(_ any, stream rpc.ServerStream) error {
	in := s.message("Counting")
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	for n := int64(1); n <= field(in, "to").Int(); n++ {
		out := s.message("Thing")
		out.Set(out.Descriptor().Fields().ByName("big_id"), protoreflect.ValueOfInt64(n))
		if err := stream.SendMsg(out); err != nil {
			return err
		}
	}
	if code := field(in, "fail_with").Int(); code != 0 {
		return status.Error(codes.Code(code), "no more")
	}
	return nil
}

// start runs the service and returns it with its address.
func start(t *testing.T, reflected bool, options ...rpc.ServerOption) (*things, string) {
	t.Helper()
	s := &things{files: files(t), asked: make(chan metadata.MD, 1024)}
	return s, serve(t, "127.0.0.1:0", s.register(reflected), options...).address
}

// outcome is what a test looks at.
type outcome struct {
	Result string
	Chunks int
	Code   schemas.Code
	Reason string
	Ran    schemas.Ran
	Again  bool
	After  int64
	Agents string // the agent's own code
	Said   string
}

func taskOf(payload string) *worker.Task { return adaptertest.NewTask([]byte(payload)) }

func run(t *testing.T, agent *grpc.Agent, payload string) outcome {
	t.Helper()
	heard := new(adaptertest.Recorder)
	result, err := agent.Handle(t.Context(), taskOf(payload), heard)
	got := outcome{Result: string(result), Chunks: len(heard.Chunks())}
	if err == nil {
		return got
	}
	failure := failureOf(t, err)
	e := failure.Err
	got.Code, got.Reason, got.Ran, got.Said = e.Code, e.Reason, failure.Ran, e.Message
	got.Again, got.After = e.Retryable, e.RetryAfterMS
	e.Detail("agent_code", &got.Agents)
	return got
}

func failureOf(t *testing.T, err error) *worker.Failure {
	t.Helper()
	var failure *worker.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a *worker.Failure", err)
	}
	return failure
}

func ExampleNew() {
	agent, err := grpc.New(grpc.Config{Target: "127.0.0.1:50051", Method: "summaries.v1.Summaries/Summarize"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	var handler worker.Handler = agent
	fmt.Printf("%T\n", handler)
	// Output: *grpc.Agent
}

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]grpc.Config{
		"no target":                {},
		"a method without service": {Target: "a:1", Method: "Echo"},
		"a method without name":    {Target: "a:1", Methods: map[string]string{"echo": "things.v1.Things/"}},
		"a set that is not there":  {Target: "a:1", Method: service + "/Echo", DescriptorSet: "testdata/none.binpb"},
		"a set that is none":       {Target: "a:1", Method: service + "/Echo", DescriptorSet: "testdata/things.proto"},
		"another service":          {Target: "a:1", Method: "things.v1.Others/Echo", DescriptorSet: setPath},
		"no service":               {Target: "a:1", Method: "things.v1.Thing/Echo", DescriptorSet: setPath},
		"another method":           {Target: "a:1", Method: service + "/Repeat", DescriptorSet: setPath},
		"a stream of requests":     {Target: "a:1", Method: service + "/Collect", DescriptorSet: setPath},
		"metadata of ours":         {Target: "a:1", Metadata: map[string]string{"Reach-Task-Id": "x"}},
		"metadata of gRPC":         {Target: "a:1", Metadata: map[string]string{"grpc-timeout": "x"}},
		"metadata without a name":  {Target: "a:1", Metadata: map[string]string{"": "x"}},
		"a negative limit":         {Target: "a:1", MaxMessage: -1},
	} {
		if _, err := grpc.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "grpc agent: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
