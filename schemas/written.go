package schemas

// The messages that there are several of for each task write themselves, each member in its place, as the type has them. One of these
// types that gets another member does not compile here until that is counted, and then written below.
var (
	_ written = &ReachMessage{
		0, "", "", "", "", "", nil, 0, 0,
		Time{},
		Time{},
		nil, "", "", "", "", "", "", "", false, false, false, nil, nil, "", "", "", 0,
		Time{},
		Time{},
		nil, nil, nil,
	}
	_ written = &Task{
		0, "", "", "", "", "", "", 0, 0,
		Time{},
		Time{},
		Time{},
		Time{},
		Time{},
		Time{},
		nil, nil, nil, nil, false, 0, nil, "", "", "", false,
		nil, nil, "", nil,
	}
	_ written = &Record{Task{}, "", nil, nil, false, 0}
	_ written = &Result{0, "", "", 0, 0, "", "", "", nil, nil, false, 0, "", Time{}, Time{}, nil, nil}
	_ written = &Answer{0, "", 0, false, nil}
	_         = Assignment{"", false, 0, nil, nil, "", "", Time{}, "", "", "", "", "", "", 0, 0, nil}
	_         = Hop{"", Time{}, "", nil, nil}
)

// Guesses of sizes, in bytes.
const (
	usualRoom = 640
	hopRoom   = 128
	rawRoom   = 32 // around a raw value
)

func (m *ReachMessage) room() int {
	size := usualRoom + rawRoom + len(m.Payload) + len(m.Metadata)
	for i := range m.Hops {
		size += hopRoom + len(m.Hops[i].Detail)
	}
	return size
}

func (m *ReachMessage) write(p *pen) {
	p.version(m.V)
	p.textIf("task_id", m.TaskID)
	p.textIf("msg_id", m.MsgID)
	p.textIf("tenant", m.Tenant)
	p.textIf("intent", m.Intent)
	p.textIf("capability", m.Capability)
	p.rawIf("payload", m.Payload)
	p.numberIf("timeout_ms", m.TimeoutMS)
	p.numberIf("run_timeout_ms", m.RunTimeoutMS)
	p.momentIf("expires_at", m.ExpiresAt)
	p.momentIf("not_before", m.NotBefore)
	if m.Priority != nil {
		p.number("priority", int64(*m.Priority))
	}
	p.textIf("retry_of", m.RetryOf)
	p.textIf("trace_id", m.TraceID)
	p.textIf("traceparent", m.Traceparent)
	p.textIf("callback", m.Callback)
	p.textIf("prefer_agent", m.PreferAgent)
	p.textIf("version", m.Version)
	p.textIf("min_version", m.MinVersion)
	p.flagIf("wait_for_agent", m.WaitForAgent)
	p.flagIf("fail_fast", m.FailFast)
	p.flagIf("require_mode", m.RequireMode)
	p.textsIf("tags", m.Tags)
	p.rawIf("metadata", m.Metadata)
	p.textIf("response_mode", string(m.ResponseMode))
	p.textIf("quality_of_service", string(m.QualityOfService))
	p.textIf("schedule", m.Schedule)
	p.numberIf("attempt", int64(m.Attempt))
	p.momentIf("submitted_at", m.SubmittedAt)
	p.momentIf("forget_at", m.ForgetAt)
	if m.Assignment != nil {
		p.name("assignment")
		p.open()
		m.Assignment.write(p)
		p.close()
	}
	p.hopsIf(m.Hops)
	p.unknown(m.Unknown)
}

func (a *Assignment) write(p *pen) {
	p.textIf("agent_id", a.AgentID)
	p.flag("idempotent", a.Idempotent)
	p.number("run_timeout_ms", a.RunTimeoutMS)
	p.textsIf("chain", a.Chain)
	p.textsIf("tried", a.Tried)
	p.textIf("also", a.Also)
	p.textIf("instance_id", a.InstanceID)
	p.momentIf("begun_at", a.BegunAt)
	p.textIf("route", a.Route)
	p.textIf("strategy", a.Strategy)
	p.textIf("versions", a.Versions)
	p.textIf("sticky", a.Sticky)
	p.textIf("fallback", a.Fallback)
	p.textIf("fallback_strategy", a.FallbackStrategy)
	p.numberIf("next_chunk", a.NextChunk)
	p.numberIf("restarts", int64(a.Restarts))
	p.unknown(a.Unknown)
}

func (h *Hop) write(p *pen) {
	p.text("hop", h.Hop)
	p.momentIf("at", h.At)
	p.text("by", h.By)
	p.rawIf("detail", h.Detail)
	p.unknown(h.Unknown)
}

func (t *Task) room() int { return usualRoom + rawRoom + len(t.Result) + len(t.LateResult) }

func (t *Task) write(p *pen) {
	p.version(t.V)
	p.text("task_id", t.TaskID)
	p.textIf("msg_id", t.MsgID)
	p.text("state", string(t.State))
	p.text("phase", string(t.Phase))
	p.text("capability", t.Capability)
	p.textIf("agent_id", t.AgentID)
	p.number("attempt", int64(t.Attempt))
	p.sequenceIf("revision", t.Revision)
	p.momentIf("submitted_at", t.SubmittedAt)
	p.momentIf("started_at", t.StartedAt)
	p.momentIf("finished_at", t.FinishedAt)
	p.momentIf("not_before", t.NotBefore)
	p.momentIf("expires_at", t.ExpiresAt)
	p.momentIf("kept_until", t.KeptUntil)
	p.generalIf("progress", t.Progress != nil, t.Progress)
	p.generalIf("queue", t.Queue != nil, t.Queue)
	p.generalIf("cancel", t.Cancel != nil, t.Cancel)
	p.rawIf("result", t.Result)
	p.flag("partial", t.Partial)
	p.numberIf("chunks", t.Chunks)
	p.generalIf("error", t.Error != nil, t.Error)
	p.textIf("retry_of", t.RetryOf)
	p.textIf("retried_as", t.RetriedAs)
	p.textIf("trace_id", t.TraceID)
	p.flagIf("dead_letter", t.DeadLetter)
	p.rawIf("late_result", t.LateResult)
	p.generalIf("callback", t.Callback != nil, t.Callback)
	p.textIf("schedule", t.Schedule)
	p.unknown(t.Unknown)
}

func (r *Record) room() int { return r.Task.room() + rawRoom + hopRoom*len(r.Hops) + len(r.Message) }

func (r *Record) write(p *pen) {
	r.Task.write(p)
	p.text("tenant", r.Tenant)
	p.hopsIf(r.Hops)
	p.rawIf("message", r.Message)
	p.flagIf("amended", r.Amended)
	p.sequenceIf("first_revision", r.First)
}

func (r *Result) room() int { return usualRoom + rawRoom + len(r.Result) + hopRoom*len(r.Hops) }

func (r *Result) write(p *pen) {
	p.version(r.V)
	p.text("task_id", r.TaskID)
	p.text("agent_id", r.AgentID)
	p.number("attempt", int64(r.Attempt))
	p.sequence("sequence", r.Sequence)
	p.textIf("instance_id", r.InstanceID)
	p.textIf("write_id", r.WriteID)
	p.text("state", string(r.State))
	p.rawIf("result", r.Result)
	p.generalIf("error", r.Error != nil, r.Error)
	p.flag("partial", r.Partial)
	p.number("chunks", r.Chunks)
	p.textIf("ran", string(r.Ran))
	p.momentIf("started_at", r.StartedAt)
	p.momentIf("finished_at", r.FinishedAt)
	p.hopsIf(r.Hops)
	p.unknown(r.Unknown)
}

func (a *Answer) room() int { return rawRoom * 3 }

func (a *Answer) write(p *pen) {
	p.version(a.V)
	p.text("outcome", string(a.Outcome))
	p.sequenceIf("sequence", a.Sequence)
	p.flagIf("idle", a.Idle)
	p.generalIf("error", a.Error != nil, a.Error)
}
