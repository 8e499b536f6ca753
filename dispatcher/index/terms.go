package index

import (
	"strings"

	"github.com/agentreach/agent-reach/schemas"
)

// Terms are what was asked for and decided, apart from what only the task itself has: its ids, its times and its content. They are
// not changed.
type Terms struct {
	Tenant           string
	Intent           string
	PayloadRef       *schemas.BodyRef
	TimeoutMS        int64
	RunTimeoutMS     int64
	Priority         int
	RetryOf          string
	Callback         string
	PreferAgent      string
	Version          string
	MinVersion       string
	WaitForAgent     bool
	FailFast         bool
	RequireMode      bool
	ResponseMode     schemas.ResponseMode
	QualityOfService schemas.QualityOfService
	Schedule         string
	Attempt          int
	Assignment       *schemas.Assignment
}

func termsOf(m *schemas.ReachMessage) *Terms {
	return &Terms{
		Tenant: m.Tenant, Intent: m.Intent, PayloadRef: m.PayloadRef, TimeoutMS: m.TimeoutMS, RunTimeoutMS: m.RunTimeoutMS,
		Priority: m.PriorityOrDefault(), RetryOf: m.RetryOf, Callback: m.Callback, PreferAgent: m.PreferAgent,
		Version: m.Version, MinVersion: m.MinVersion, WaitForAgent: m.WaitForAgent, FailFast: m.FailFast, RequireMode: m.RequireMode,
		ResponseMode: m.ResponseMode, QualityOfService: m.QualityOfService, Schedule: m.Schedule, Attempt: m.Attempt,
		Assignment: m.Assignment,
	}
}

// Order is the task's message again, without its content.
func (t *Task) Order() *schemas.ReachMessage {
	s := t.Terms
	m := &schemas.ReachMessage{
		TaskID: t.ID, MsgID: t.MsgID, TraceID: t.TraceID, Capability: t.Capability,
		SubmittedAt: t.SubmittedAt, ExpiresAt: t.ExpiresAt, NotBefore: t.NotBefore, ForgetAt: t.ForgetAt,
		Tenant: s.Tenant, Intent: s.Intent, PayloadRef: s.PayloadRef, TimeoutMS: s.TimeoutMS, RunTimeoutMS: s.RunTimeoutMS,
		RetryOf: s.RetryOf, Callback: s.Callback, PreferAgent: s.PreferAgent,
		Version: s.Version, MinVersion: s.MinVersion, WaitForAgent: s.WaitForAgent, FailFast: s.FailFast, RequireMode: s.RequireMode,
		ResponseMode: s.ResponseMode, QualityOfService: s.QualityOfService, Schedule: s.Schedule, Attempt: s.Attempt,
		Assignment: s.Assignment,
	}
	if priority := s.Priority; priority != schemas.DefaultPriority {
		m.Priority = &priority
	}
	return m
}

// common keeps one copy of the terms that waiting tasks share: most callers ask for the same again and again, and of a million tasks
// that wait there are seldom more than a few kinds.
type common map[termsKey]*kind

// kind is the tasks that have the same terms.
type kind struct {
	key   termsKey
	terms *Terms
	tasks int
}

// share gives a task the copy of its terms.
func (c common) share(t *Task) {
	key := keyOf(t.Terms)
	k := c[key]
	if k == nil {
		k = &kind{key: key, terms: t.Terms}
		c[key] = k
	}
	k.tasks++
	t.kind, t.Terms = k, k.terms
}

// release forgets terms that no task has any more.
func (c common) release(t *Task) {
	if t.kind == nil {
		return
	}
	if t.kind.tasks--; t.kind.tasks == 0 {
		delete(c, t.kind.key)
	}
	t.kind = nil
}

// termsKey is equal for equal terms.
type termsKey struct {
	terms      Terms // without its assignment
	assigned   bool
	assignment assignmentKey
}

type assignmentKey struct {
	agentID, chain, tried, also, instanceID, begunAt, unknown, shape  string
	route, strategy, versions, share, sticky, fallback, otherStrategy string
	idempotent, errorMember                                           bool
	timeoutHintMS, runTimeoutMS, nextChunk                            int64
	restarts, lost                                                    int
}

func keyOf(t *Terms) termsKey {
	key := termsKey{terms: *t}
	key.terms.Assignment = nil
	if a := t.Assignment; a != nil {
		key.assigned, key.assignment = true, assignmentKey{
			agentID: a.AgentID, chain: strings.Join(a.Chain, " "), tried: strings.Join(a.Tried, " "), also: a.Also,
			instanceID: a.InstanceID, begunAt: a.BegunAt.String(), unknown: string(a.Unknown), shape: shapeKey(a.Shape),
			route: a.Route, strategy: a.Strategy, versions: a.Versions, share: a.Share, sticky: a.Sticky, fallback: a.Fallback,
			otherStrategy: a.FallbackStrategy, idempotent: a.Idempotent, errorMember: a.ErrorMember,
			timeoutHintMS: a.TimeoutHintMS, runTimeoutMS: a.RunTimeoutMS, nextChunk: a.NextChunk, restarts: a.Restarts, lost: a.Lost,
		}
	}
	return key
}

func shapeKey(s *schemas.Shape) string {
	if s == nil {
		return ""
	}
	return string(schemas.MustEncode(s))
}
