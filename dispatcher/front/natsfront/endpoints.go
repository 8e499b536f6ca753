package natsfront

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agentreach/agent-reach/broker"
	"github.com/agentreach/agent-reach/dispatcher/front"
	"github.com/agentreach/agent-reach/schemas"
)

// endpoints are the subjects reach.api.<noun>.<verb>.
func (a *api) endpoints() map[string]answerer {
	return map[string]answerer{
		"task.get":        onTask(front.TaskRef, a.task),
		"task.wait":       onTask(front.TaskRef, a.wait),
		"task.cancel":     onTask(front.TaskRef, a.cancel),
		"task.retry":      onTask(front.TaskRef, a.retry),
		"task.purge":      onTask(front.TaskRef, a.purge),
		"task.redeliver":  onTask(front.TaskRef, a.redeliver),
		"task.list":       a.listTasks,
		"body.put":        a.putBody,
		"body.get":        a.getBody,
		"trace.get":       onTask(front.TraceRef, a.trace),
		"route.explain":   a.explain,
		"route.list":      func(ctx context.Context, _ []byte) (any, error) { return a.service.ListRoutes(ctx) },
		"schedule.add":    a.addSchedule,
		"schedule.list":   a.listSchedules,
		"schedule.get":    a.onSchedule(a.service.Schedule),
		"schedule.pause":  a.onSchedule(a.service.PauseSchedule),
		"schedule.resume": a.onSchedule(a.service.ResumeSchedule),
		"schedule.delete": a.onSchedule(a.service.DeleteSchedule),
		"agent.register":  a.register,
		"agent.list":      a.listAgents,
		"agent.get":       onAgent(a.service.Agent),
		"agent.drain":     onAgent(a.service.Drain),
		"agent.resume":    onAgent(a.service.Resume),
		"agent.remove":    onAgent(a.service.RemoveAgent),
		"capability.list": a.listCapabilities,
		"capability.get":  a.capability,
		"capability.add":  a.addCapability,
	}
}

func (a *api) submit(ctx context.Context, request *broker.Request) (any, error) {
	message, err := messageOf(request)
	if err != nil {
		return nil, err
	}
	return a.service.Submit(ctx, a.tenant(), message)
}

func messageOf(request *broker.Request) (*schemas.ReachMessage, error) {
	message, err := front.NamedMessage(request.Data)
	if err == nil {
		message.ContinueTrace(request.Header("traceparent"))
	}
	return message, err
}

func (a *api) explain(ctx context.Context, request []byte) (any, error) {
	message, err := front.NamedMessage(request)
	if err != nil {
		return nil, err
	}
	return a.service.Explain(ctx, a.tenant(), message)
}

// onTask is an endpoint that takes the name of a task, or of a trace.
func onTask(read func([]byte) (*schemas.TaskRef, error), do func(context.Context, *schemas.TaskRef) (any, error)) answerer {
	return func(ctx context.Context, request []byte) (any, error) {
		ref, err := read(request)
		if err != nil {
			return nil, err
		}
		return do(ctx, ref)
	}
}

func (a *api) task(ctx context.Context, ref *schemas.TaskRef) (any, error) {
	return a.service.Task(ctx, a.tenant(), ref.TaskID)
}

func (a *api) cancel(ctx context.Context, ref *schemas.TaskRef) (any, error) {
	return a.service.Cancel(ctx, a.tenant(), ref.TaskID)
}

func (a *api) retry(ctx context.Context, ref *schemas.TaskRef) (any, error) {
	return a.service.Retry(ctx, a.tenant(), ref.TaskID)
}

func (a *api) purge(ctx context.Context, ref *schemas.TaskRef) (any, error) {
	return a.service.Purge(ctx, a.tenant(), ref.TaskID)
}

func (a *api) redeliver(ctx context.Context, ref *schemas.TaskRef) (any, error) {
	return a.service.Redeliver(ctx, a.tenant(), ref.TaskID)
}

func (a *api) trace(ctx context.Context, ref *schemas.TaskRef) (any, error) {
	return a.service.Trace(ctx, a.tenant(), ref.TaskID)
}

// wait is cut short when the dispatcher stops; then the task is looked at once more, so that the caller loses nothing.
func (a *api) wait(ctx context.Context, ref *schemas.TaskRef) (any, error) {
	wait := time.Duration(max(0, min(ref.WaitMS, a.maxWait.Milliseconds()))) * time.Millisecond
	task, err := a.service.Wait(ctx, a.tenant(), ref.TaskID, wait)
	if err == nil || ctx.Err() == nil {
		return task, err
	}
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	return a.task(looking, ref)
}

// listTasks gives a shorter page where a whole one would be too large for a message.
func (a *api) listTasks(ctx context.Context, request []byte) (any, error) {
	query, err := front.TaskQuery(request)
	if err != nil {
		return nil, err
	}
	query.PageSize = cmp.Or(query.PageSize, schemas.DefaultPageSize)
	for {
		page, err := a.service.ListTasks(ctx, a.tenant(), *query)
		if err != nil {
			return nil, err
		}
		if query.PageSize == 1 || int64(len(schemas.MustEncode(page))) <= a.maxReply {
			return page, nil
		}
		query.PageSize /= 2
	}
}

// listAgents gives a shorter page where a whole one would be too large for a message.
func (a *api) listAgents(ctx context.Context, request []byte) (any, error) {
	query, err := front.AgentQuery(request)
	if err != nil {
		return nil, err
	}
	query.PageSize = cmp.Or(query.PageSize, schemas.DefaultPageSize)
	for {
		page, err := a.service.ListAgents(ctx, *query)
		if err != nil {
			return nil, err
		}
		if query.PageSize == 1 || int64(len(schemas.MustEncode(page))) <= a.maxReply {
			return page, nil
		}
		query.PageSize /= 2
	}
}

// listCapabilities gives as many entries as a message holds, by id, from the one that the token names.
func (a *api) listCapabilities(ctx context.Context, request []byte) (any, error) {
	query, err := front.CapabilityQuery(request)
	if err != nil {
		return nil, err
	}
	page, err := a.service.ListCapabilities(ctx)
	if err != nil {
		return nil, err
	}
	return pageOf(page.Items, query.PageToken, a.maxReply-envelopeBytes), nil
}

// pageOf is what of a sorted list fits into so many bytes, from an id on; one entry at least.
func pageOf(sorted []schemas.Capability, from string, room int64) *schemas.CapabilityPage {
	start, _ := slices.BinarySearchFunc(sorted, from, func(c schemas.Capability, id string) int { return cmp.Compare(c.ID, id) })
	page := &schemas.CapabilityPage{Items: []schemas.Capability{}}
	for _, c := range sorted[start:] {
		if room -= int64(len(schemas.MustEncode(c))); room < 0 && len(page.Items) > 0 {
			page.NextPageToken = c.ID
			break
		}
		page.Items = append(page.Items, c)
	}
	return page
}

func (a *api) register(ctx context.Context, request []byte) (any, error) {
	registration, err := front.Registration(request)
	if err != nil {
		return nil, err
	}
	return a.service.Register(ctx, registration)
}

// onAgent is an endpoint that takes the name of an agent.
func onAgent(do func(context.Context, string) (*schemas.Agent, error)) answerer {
	return func(ctx context.Context, request []byte) (any, error) {
		ref, err := front.AgentRef(request)
		if err != nil {
			return nil, err
		}
		return do(ctx, ref.AgentID)
	}
}

func (a *api) capability(ctx context.Context, request []byte) (any, error) {
	ref, err := front.CapabilityRef(request)
	if err != nil {
		return nil, err
	}
	return a.service.Capability(ctx, ref.ID)
}

func (a *api) addCapability(ctx context.Context, request []byte) (any, error) {
	add, err := front.AddCapability(request)
	if err != nil {
		return nil, err
	}
	return a.service.AddCapability(ctx, add)
}

// putBody keeps a part of a payload for the message that is submitted next.
func (a *api) putBody(ctx context.Context, request []byte) (any, error) {
	part, data, err := schemas.AcceptPart(request)
	if err != nil {
		return nil, err
	}
	if err := a.service.Stage(ctx, a.tenant(), part, data); err != nil {
		return nil, err
	}
	return schemas.BodyPart{Body: part.Body, Part: part.Part}, nil
}

// raw is an answer that is sent as it is.
type raw []byte

// getBody is a part of a result.
func (a *api) getBody(ctx context.Context, request []byte) (any, error) {
	part, _, err := schemas.AcceptPart(request)
	if err != nil {
		return nil, err
	}
	if err := schemas.CheckTaskID(part.TaskID); err != nil {
		return nil, err
	}
	data, err := a.service.ResultPart(ctx, a.tenant(), part.TaskID, part.Part)
	return raw(data), err
}
