package schemas

import "math"

var rans = []Ran{RanNo, RanUnknown, RanYes}

// Check refuses a result that contradicts itself or breaks a bound. Whether it is the result that is waited for is the ledger's to
// say, and whether it keeps the capability's contract is the contract's.
func (r *Result) Check() *Error {
	return firstOf(
		checkVersion(r.V),
		at("/task_id", CheckTaskID(r.TaskID)),
		at("/agent_id", CheckAgentID(r.AgentID)),
		checkRange(int64(r.Attempt), 1, math.MaxInt32, "/attempt"),
		unless(r.Sequence > 0, "/sequence", "the sequence of the assignment"),
		checkOptionalToken(r.InstanceID, "/instance_id"),
		checkOptionalToken(r.WriteID, "/write_id"),
		r.checkEnd(),
		checkOneOf(r.Ran, rans, "/ran"),
		checkRange(r.Chunks, 0, MaxChunk, "/chunks"),
		checkRange(r.Stalls, 0, MaxChunk, "/stalls"),
		checkLength(len(r.Hops), MaxHops, "/hops"),
	)
}

func (r *Result) checkEnd() *Error {
	switch r.State {
	case StateCompleted:
		return firstOf(
			unless(r.Error == nil, "/error", "nothing where state is completed"),
			unless(r.Result != nil || r.ResultRef != nil || r.Chunks > 0, "/result",
				"a JSON value, null too, where state is completed and there are no chunks"),
			unless(r.Result == nil || r.ResultRef == nil, "/result_ref", "nothing where result is given; send one of the two"),
			r.checkRef(),
		)
	case StateFailed, StateRejected:
		return firstOf(
			unless(r.Result == nil && r.ResultRef == nil, "/result", "nothing where state is "+string(r.State)),
			r.checkError(),
		)
	}
	return badValue("/state", "completed, failed or rejected")
}

func (r *Result) checkError() *Error {
	if r.Error == nil {
		return badValue("/error", "an error where state is "+string(r.State))
	}
	return unless(r.Error.Code.Standard(), "/error/code", "one of "+list(Codes))
}

func (r *Result) checkRef() *Error {
	if r.ResultRef == nil {
		return nil
	}
	return within("/result_ref", r.ResultRef.Check())
}
