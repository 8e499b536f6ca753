package grpc

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/jhump/protoreflect/v2/grpcreflect"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/agentreach/agent-reach/schemas"
	"github.com/agentreach/agent-reach/schemas/redact"
	"github.com/agentreach/agent-reach/schemas/smallfile"
	"github.com/agentreach/agent-reach/worker"
	"github.com/agentreach/agent-reach/worker/adapter/answer"
)

// method is one that can be called.
type method struct {
	name   string // as the configuration has it
	path   string // /package.Service/Method
	input  protoreflect.MessageDescriptor
	output protoreflect.MessageDescriptor
	stream bool
	types  *dynamicpb.Types // what may stand in an Any
}

// methods finds the methods of one server, and remembers them.
type methods struct {
	cfg   *Config
	conn  *rpc.ClientConn
	files *protoregistry.Files // of the descriptor set; nil where the server is asked

	mu    sync.Mutex
	known map[string]*method
}

func newMethods(cfg Config, conn *rpc.ClientConn) (*methods, error) {
	m := &methods{cfg: &cfg, conn: conn, known: make(map[string]*method)}
	if cfg.DescriptorSet == "" {
		return m, nil
	}
	var err error
	if m.files, err = readSet(cfg.DescriptorSet); err != nil {
		return nil, err
	}
	for _, name := range cfg.names() {
		if m.known[name], err = methodIn(m.files, name); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func readSet(path string) (*protoregistry.Files, error) {
	raw, err := smallfile.Read(path, smallfile.Binary)
	if err != nil {
		return nil, fmt.Errorf("read descriptor set: %w", err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(raw, set); err != nil {
		return nil, fmt.Errorf("read descriptor set: %w", err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("read descriptor set: %w", err)
	}
	return files, nil
}

// find is a method by its name. The server is asked once for each.
func (m *methods) find(ctx context.Context, name string) (*method, *worker.Failure) {
	m.mu.Lock()
	known := m.known[name]
	m.mu.Unlock()
	if known != nil {
		return known, nil
	}
	found, err := m.ask(ctx, name)
	if err != nil {
		return nil, notFound(ctx, m.cfg, name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[name] = found
	return found, nil
}

// forget makes the next call ask again: the server may be another version by now.
func (m *methods) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		delete(m.known, name)
	}
}

func (m *methods) ask(ctx context.Context, name string) (*method, error) {
	service, _, err := split(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := grpcreflect.NewClientAuto(ctx, m.conn, grpcreflect.WithAllowMissingFileDescriptors())
	defer client.Reset()
	file, err := client.FileContainingSymbol(service)
	if err != nil {
		return nil, err
	}
	files := new(protoregistry.Files)
	if err := register(files, file); err != nil {
		return nil, err
	}
	return methodIn(files, name)
}

// register takes in a file with all that it imports.
func register(files *protoregistry.Files, file protoreflect.FileDescriptor) error {
	if _, err := files.FindFileByPath(file.Path()); err == nil {
		return nil
	}
	imports := file.Imports()
	for i := range imports.Len() {
		if imported := imports.Get(i); !imported.IsPlaceholder() {
			if err := register(files, imported.FileDescriptor); err != nil {
				return err
			}
		}
	}
	return files.RegisterFile(file)
}

func methodIn(files *protoregistry.Files, name string) (*method, error) {
	service, short, err := split(name)
	if err != nil {
		return nil, err
	}
	described, err := files.FindDescriptorByName(service)
	if err != nil {
		return nil, fmt.Errorf("there is no service %s", service)
	}
	of, ok := described.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no service", service)
	}
	found := of.Methods().ByName(short)
	switch {
	case found == nil:
		return nil, fmt.Errorf("service %s has no method %s", service, short)
	case found.IsStreamingClient():
		return nil, fmt.Errorf("%s takes a stream, and a task is one message", name)
	}
	return &method{
		name: name, path: fmt.Sprintf("/%s/%s", service, short), stream: found.IsStreamingServer(),
		input: found.Input(), output: found.Output(), types: dynamicpb.NewTypes(files),
	}, nil
}

// split takes package.Service/Method and package.Service.Method apart.
func split(name string) (protoreflect.FullName, protoreflect.Name, error) {
	name = strings.TrimPrefix(name, "/")
	at := max(strings.LastIndexByte(name, '/'), strings.LastIndexByte(name, '.'))
	service, short := protoreflect.FullName(name[:max(at, 0)]), protoreflect.Name(name[at+1:])
	if !service.IsValid() || !short.IsValid() {
		return "", "", fmt.Errorf("method %q is not package.Service/Method", name)
	}
	return service, short, nil
}

// notFound is a method that cannot be called. The task was not sent.
func notFound(ctx context.Context, cfg *Config, name string, err error) *worker.Failure {
	state, ok := status.FromError(err)
	e := schemas.NewError(schemas.Unavailable, schemas.ReasonNoSuchEndpoint, "%s cannot be called: %s", name,
		redact.Excerpt([]byte(err.Error()), 0))
	switch {
	case ctx.Err() != nil:
		return answer.Ended(ctx, schemas.RanNo, false)
	case grpcreflect.IsElementNotFoundError(err):
		e.Message = fmt.Sprintf("the server has no %s: transport.method is package.Service/Method", name)
	case ok && state.Code() == codes.Unimplemented:
		e.Message = "the server does not describe itself by reflection: name a descriptor_set"
	case ok && state.Code() != codes.Unknown:
		return cfg.cannotConnect(err)
	}
	return &worker.Failure{Err: e, Ran: schemas.RanNo}
}
