package schemas

import (
	"fmt"
	"math"
)

// Check refuses a claim that breaks a bound or a grammar.
func (c *Claim) Check() *Error {
	return firstOf(
		checkVersion(c.V),
		ifSet(c.AgentID, "/agent_id", CheckAgentID),
		checkToken(c.InstanceID, "/instance_id"),
		checkOptionalToken(c.ClaimID, "/claim_id"),
		c.checkFree(),
		checkRange(int64(c.FreeTotal), 0, math.MaxInt32, "/free_total"),
		checkLength(len(c.Held), MaxHeld, "/held"),
	)
}

func (c *Claim) checkFree() *Error {
	if problem := checkLength(len(c.Free), MaxOffers, "/free"); problem != nil {
		return problem
	}
	for capability, free := range c.Free {
		if problem := firstOf(at("/free", CheckCapability(capability)), checkRange(int64(free), 0, MaxConcurrency, "/free")); problem != nil {
			return problem
		}
	}
	return nil
}

// beatStates are those that a heartbeat may name; absent is online.
var beatStates = []AgentState{AgentOnline, AgentDraining, AgentOffline}

// Check refuses a heartbeat that breaks a bound or a grammar. One that names no process is the agent's own, beside a worker's.
func (h *Heartbeat) Check() *Error {
	problem := firstOf(
		checkVersion(h.V),
		at("/agent_id", CheckAgentID(h.AgentID)),
		checkOptionalToken(h.InstanceID, "/instance_id"),
		checkOneOf(h.State, beatStates, "/state"),
		checkLength(len(h.Capabilities), MaxOffers, "/capabilities"),
		unless(h.LoadAvg >= 0, "/load_avg", "a number from 0"),
		checkOptionalText(h.Trouble, MaxTroubleBytes, "/trouble"),
		checkRange(int64(h.InFlight), 0, math.MaxInt32, "/in_flight"),
		checkRange(int64(h.Queued), 0, math.MaxInt32, "/queued"),
		checkLength(len(h.InFlightTasks), MaxHeartbeatTasks, "/in_flight_tasks"),
		checkLength(len(h.Held), MaxHeld, "/held"),
	)
	for i, capability := range h.Capabilities {
		problem = firstOf(problem, at(fmt.Sprintf("/capabilities/%d", i), CheckCapability(capability)))
	}
	return problem
}

// Check refuses a receipt that breaks a bound or a grammar.
func (r *Receipt) Check() *Error {
	problem := firstOf(
		checkVersion(r.V),
		at("/agent_id", CheckAgentID(r.AgentID)),
		checkToken(r.InstanceID, "/instance_id"),
		checkLength(len(r.Tasks), MaxClaimTasks, "/tasks"),
	)
	for i := range r.Tasks {
		problem = firstOf(problem, r.Tasks[i].check(fmt.Sprintf("/tasks/%d", i)))
	}
	return problem
}

func (t *ReceiptTask) check(field string) *Error {
	return firstOf(
		at(field+"/task_id", CheckTaskID(t.TaskID)),
		unless(t.Sequence > 0, field+"/sequence", "the sequence of the assignment"),
		checkRange(int64(t.Attempt), 0, math.MaxInt32, field+"/attempt"),
		unless(t.Progress.possible(), field+"/progress/fraction", "a number from 0 to 1"),
		checkLength(len(t.Hops), MaxHops, field+"/hops"),
	)
}

// possible reports whether nobody can have done more than all, or less than nothing.
func (p *Progress) possible() bool {
	return p == nil || p.Fraction == nil || 0 <= *p.Fraction && *p.Fraction <= 1
}

// CheckPosted refuses a chunk that does not say whose it is.
func (c *Chunk) CheckPosted() *Error {
	return firstOf(
		checkVersion(c.V),
		at("/agent_id", CheckAgentID(c.AgentID)),
		checkToken(c.InstanceID, "/instance_id"),
		at("/task_id", CheckTaskID(c.TaskID)),
		checkRange(c.N, 1, MaxChunk, "/n"),
		unless(c.Data != nil, "/data", "a JSON value"),
	)
}
