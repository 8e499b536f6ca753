// Package front holds what every way in has in common: the one small interface through which a front reaches the house. Each front
// is a package of its own below this one, and just another client.
package front

import (
	"context"
	"io"
	"time"

	"github.com/agentreach/agent-reach/schemas"
)

// Service is the house as callers see it. Every error is an *schemas.Error. tenant is who the front says the caller is; a task of
// another tenant is as unknown as one that never was.
type Service interface {
	Tasks
	Bodies
	Agents
	Dictionary
	Routing
	Schedules
}

// Tasks are submitted, watched and canceled.
type Tasks interface {
	// Submit accepts a task: it returns once the task is durable.
	Submit(ctx context.Context, tenant string, message *schemas.ReachMessage) (*schemas.Task, error)
	// SubmitFrom is Submit for a message whose payload is not a part of it: it is read from its start, several times maybe, and never
	// held whole. The payload is valid JSON within the limits of schemas.Scan.
	SubmitFrom(ctx context.Context, tenant string, message *schemas.ReachMessage, payload io.ReadSeeker) (*schemas.Task, error)
	// Task is the task as it stands.
	Task(ctx context.Context, tenant, taskID string) (*schemas.Task, error)
	// Wait is Task, but waits until it has ended, at most for wait.
	Wait(ctx context.Context, tenant, taskID string, wait time.Duration) (*schemas.Task, error)
	// Follow tells what happens to a task from here on: its chunks after a number, or Fresh, how far it is, and how it ends.
	Follow(ctx context.Context, tenant, taskID string, after int64) (Events, error)
	// Cancel ends a task that has not ended; its Cancel field says how it went.
	Cancel(ctx context.Context, tenant, taskID string) (*schemas.Task, error)
	// Retry runs an ended task again as a new task, which it returns.
	Retry(ctx context.Context, tenant, taskID string) (*schemas.Task, error)
	// Purge takes an ended task out of the dead letters; one that is not among them is refused.
	Purge(ctx context.Context, tenant, taskID string) (*schemas.Task, error)
	// Redeliver makes the callback of an ended task again.
	Redeliver(ctx context.Context, tenant, taskID string) (*schemas.Task, error)
	// ListTasks is a page of tasks, newest first.
	ListTasks(ctx context.Context, tenant string, query schemas.TaskQuery) (*schemas.TaskPage, error)
	// Trace is a task's way through the house, by task_id or trace_id.
	Trace(ctx context.Context, tenant, id string) (*schemas.Trace, error)
}

// Bodies are payloads and results that are too large for one message: they move part by part.
type Bodies interface {
	// Stage keeps one part of a payload for a message that is submitted next and refers to it.
	Stage(ctx context.Context, tenant string, part schemas.BodyPart, data []byte) error
	// Result opens the result of a task that has completed, whatever its size; whoever gets it closes it. ctx is that of all its reads.
	Result(ctx context.Context, tenant, taskID string) (*schemas.Task, io.ReadSeekCloser, error)
	// ResultPart is one part of a result that is not a part of its Task.
	ResultPart(ctx context.Context, tenant, taskID string, part int) ([]byte, error)
}

// Agents register and are looked after.
type Agents interface {
	Register(ctx context.Context, registration *schemas.Registration) (*schemas.Registered, error)
	// ListAgents is a page of agents, by id.
	ListAgents(ctx context.Context, query schemas.AgentQuery) (*schemas.AgentPage, error)
	Agent(ctx context.Context, agentID string) (*schemas.Agent, error)
	// Drain lets an agent finish what it has and gives it nothing new; Resume ends that.
	Drain(ctx context.Context, agentID string) (*schemas.Agent, error)
	Resume(ctx context.Context, agentID string) (*schemas.Agent, error)
	// RemoveAgent forgets an agent that has gone; it is given as it was.
	RemoveAgent(ctx context.Context, agentID string) (*schemas.Agent, error)
}

// Dictionary is the set of capabilities.
type Dictionary interface {
	ListCapabilities(ctx context.Context) (*schemas.CapabilityPage, error)
	Capability(ctx context.Context, id string) (*schemas.Capability, error)
	AddCapability(ctx context.Context, add *schemas.AddCapability) (*schemas.Capability, error)
}

// Schedules are tasks that recur.
type Schedules interface {
	// AddSchedule stores a schedule; in place of another only where that is asked for.
	AddSchedule(ctx context.Context, tenant string, add *schemas.AddSchedule) (*schemas.Schedule, error)
	Schedule(ctx context.Context, tenant, name string) (*schemas.Schedule, error)
	// ListSchedules is a page of schedules, by name, without their payloads.
	ListSchedules(ctx context.Context, tenant string, query schemas.ScheduleQuery) (*schemas.SchedulePage, error)
	// PauseSchedule lets nothing happen until ResumeSchedule.
	PauseSchedule(ctx context.Context, tenant, name string) (*schemas.Schedule, error)
	ResumeSchedule(ctx context.Context, tenant, name string) (*schemas.Schedule, error)
	// DeleteSchedule gives the schedule as it was. Its tasks go on.
	DeleteSchedule(ctx context.Context, tenant, name string) (*schemas.Schedule, error)
}

// Routing says where tasks go.
type Routing interface {
	// Explain says where a message would go now, and why. Nothing is submitted.
	Explain(ctx context.Context, tenant string, message *schemas.ReachMessage) (*schemas.Explanation, error)
	// Patience is how long a caller of a message waits that says nothing of it, as its route has it; 0 where no route does.
	Patience(ctx context.Context, tenant string, message *schemas.ReachMessage) time.Duration
	// ListRoutes is the routes, in their order.
	ListRoutes(ctx context.Context) (*schemas.RoutePage, error)
}
