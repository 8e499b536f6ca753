// Package natsfront is the way in over NATS: the micro service "reach", which `nats micro` lists, with one endpoint for each method
// of a front.Service. Bodies are those of every other front; an error is a message with the header Nats-Service-Error-Code and the
// Error as its body.
//
// Each request runs in a goroutine of the broker's subscription. A request that waits for a task is answered after Config.MaxWait
// at the latest, with the task as it stands; whoever would wait longer asks again, and so finds another dispatcher when one has died.
package natsfront

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
	"github.com/rs/zerolog"
)

// Config of the front; the zero value will do.
type Config struct {
	Version string         // shown by `nats micro`; one that is not semantic is shown as 0.0.0, since the broker lists no other
	Logger  zerolog.Logger // hears what callers are not told: faults and panics
	MaxWait time.Duration  // the longest wait of one request, 30 s
}

// lastLook is the time for a look at the task when a wait is cut short because the dispatcher stops.
const lastLook = time.Second

// Serve answers for the service until the subscription is closed. Any number of dispatchers may serve at once: each request goes to
// one of them.
func Serve(conn *broker.Conn, service front.Service, config Config) (*broker.Subscription, error) {
	a := &api{
		service: service, logger: config.Logger, maxWait: cmp.Or(config.MaxWait, 30*time.Second), maxReply: conn.MaxPayload(),
	}
	endpoints := map[string]func(context.Context, *broker.Request){}
	for name, answer := range a.endpoints() {
		endpoints[name] = a.handler(name, func(ctx context.Context, r *broker.Request) (any, error) { return answer(ctx, r.Data) })
	}
	endpoints[submit] = a.handler(submit, a.submit)
	bundled := map[string]string{submit: "task.submits"}
	if teller, tells := service.(teller); tells {
		endpoints[do], bundled[do] = a.handler(do, a.doing(teller)), "task.dos"
	}
	subscription, err := conn.ServeAPI(semantic(config.Version), endpoints, bundled)
	if err != nil {
		return nil, fmt.Errorf("serve NATS front: %w", err)
	}
	return subscription, nil
}

func semantic(version string) string {
	version = strings.TrimPrefix(version, "v")
	if _, err := semver.StrictNewVersion(version); err != nil {
		return "0.0.0"
	}
	return version
}

// api is the service behind its endpoints.
type api struct {
	service  front.Service
	maxReply int64 // bytes of one message
	maxWait  time.Duration
	logger   zerolog.Logger
}

// The endpoints that look at more than the body: callers continue their trace with a header, and are told more beside the answer.
const (
	submit = "task.submit"
	do     = "task.do"
)

// answerer reads a request and gives the answer, a wire type.
type answerer func(ctx context.Context, request []byte) (any, error)

// tenant decides who the caller is. Where no tenants are configured, everyone is the default one.
func (a *api) tenant() string { return schemas.DefaultTenant }

// handler answers one request, whatever becomes of it.
func (a *api) handler(name string, answer func(context.Context, *broker.Request) (any, error)) func(context.Context, *broker.Request) {
	return func(ctx context.Context, r *broker.Request) {
		defer func() {
			if value := recover(); value != nil {
				// The value may hold anything; its type and the stack say where to look.
				a.logger.Error().Str("endpoint", name).Str("panic", fmt.Sprintf("%T", value)).Bytes("stack", debug.Stack()).Msg("panic")
				r.Fail(schemas.AsError(fmt.Errorf("panic in %s", name)))
			}
		}()
		reply, err := answer(ctx, r)
		if task, ok := reply.(*schemas.Task); ok && err == nil {
			reply, err = a.whole(ctx, task)
		}
		body, err := a.encode(reply, err)
		if err != nil {
			r.Fail(a.tell(name, err))
			return
		}
		r.Reply(body)
	}
}

// envelopeBytes is what a Task may have beside its result.
const envelopeBytes = 64 << 10

// whole is a task with its result where a message holds it, else with the reference to it: its parts are asked for with body.get.
func (a *api) whole(ctx context.Context, task *schemas.Task) (*schemas.Task, error) {
	if task.ResultRef == nil || task.ResultRef.Bytes > a.maxReply-envelopeBytes {
		return task, nil
	}
	_, r, err := a.service.Result(ctx, a.tenant(), task.TaskID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	full := *task
	full.ResultRef, full.Result = nil, make(schemas.Payload, task.ResultRef.Bytes)
	if _, err := io.ReadFull(r, full.Result); err != nil {
		return nil, err
	}
	return &full, nil
}

// encode is the answer as one message.
func (a *api) encode(answer any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if data, ok := answer.(raw); ok {
		return data, nil
	}
	body, err := schemas.Encode(answer)
	if err != nil {
		return nil, err
	}
	if size := int64(len(body)); size > a.maxReply {
		return nil, schemas.NewError(schemas.ResourceExhausted, schemas.ReasonResultTooLarge,
			"the answer of %d bytes is larger than a message may be, %d", size, a.maxReply).
			With("limit_bytes", a.maxReply).With("size_bytes", size)
	}
	return body, nil
}

// tell is what a caller hears of err. What it does not hear is logged.
func (a *api) tell(name string, err error) *schemas.Error {
	var known *schemas.Error
	if !errors.As(err, &known) {
		a.logger.Error().Err(err).Str("endpoint", name).Msg("request failed")
	}
	return schemas.AsError(err)
}
